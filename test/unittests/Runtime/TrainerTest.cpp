// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training and evaluation: order, tails, resume, signals, failures.

#include "TestBundle.h"

#include <cmath>
#include <csignal>
#include <limits>

#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

namespace {
struct Listener : TrainListener {
  std::vector<std::string> notes;
  std::vector<double> losses;
  std::vector<int64_t> sizes;
  /// Raises `stop` after so many steps.
  int64_t stopAfter = -1;
  std::atomic<int> stop{0};

  void note(const std::string &text) override { notes.push_back(text); }
  void stepDone(const StepReport &report) override {
    losses.push_back(report.metrics->values[0]);
    sizes.push_back(report.samples);
    if (static_cast<int64_t>(losses.size()) == stopAfter)
      stop = SIGINT;
  }
};
} // namespace

class TrainerTest : public ::testing::Test {
protected:
  TrainerTest() {
    linearModel().write(folder / "m.nfb");
    session = makeSession(folder / "m.nfb");
    options.epochs = 3;
  }

  /// Trains a fresh session and returns what became of its parameters.
  std::vector<float> run(TrainOptions chosen, int64_t samples = 11) {
    NamedArrays data = linearData(samples);
    listener = std::make_unique<Listener>();
    listener->stopAfter = stopAfter;
    chosen.stop = &listener->stop;
    session = makeSession(folder / "m.nfb");
    auto report = train(*session, data, chosen, *listener);
    message = report.ok() ? "" : report.message();
    if (report.ok())
      last = std::move(*report);
    return report.ok() ? valuesOf(*session, "w") : std::vector<float>{};
  }

  TemporaryFolder folder;
  std::unique_ptr<Session> session;
  std::unique_ptr<Listener> listener;
  TrainOptions options;
  TrainReport last;
  std::string message;
  int64_t stopAfter = -1;
};

/// The same training as a plain loop; batches of 4, the rest of an epoch by
/// itself.
static std::vector<float> plainLoop(int64_t samples, int64_t epochs,
                                    uint64_t seed, bool shuffle) {
  NamedArrays data = linearData(samples);
  auto *x = static_cast<float *>(data["x"].tensor.data.data());
  auto *y = static_cast<float *>(data["y"].tensor.data.data());
  float w[3], m[3] = {};
  for (int k = 0; k < 3; ++k)
    w[k] = 0.125f * static_cast<float>((seed * 7 + k * 3) % 5);
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    Permutation order(seed, epoch, samples);
    for (int64_t first = 0; first < samples; first += 4) {
      int64_t n = std::min<int64_t>(4, samples - first);
      float e[4], rate = 0.0625f;
      auto sample = [&](int64_t i) {
        return shuffle ? static_cast<int64_t>(order(first + i)) : first + i;
      };
      for (int64_t i = 0; i < n; ++i) {
        const float *row = x + 3 * sample(i);
        e[i] = w[0] * row[0] + w[1] * row[1] + w[2] * row[2] - y[sample(i)];
      }
      for (int k = 0; k < 3; ++k) {
        float g = 0;
        for (int64_t i = 0; i < n; ++i)
          g += 2 * e[i] * x[3 * sample(i) + k] / n;
        m[k] = 0.9f * m[k] + g;
      }
      for (int k = 0; k < 3; ++k)
        w[k] -= rate * m[k];
    }
  }
  return {w, w + 3};
}

static void expectClose(const std::vector<float> &a,
                        const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-5f);
}

TEST_F(TrainerTest, EqualsAPlainLoop) {
  for (bool shuffle : {false, true}) {
    options.shuffle = shuffle;
    options.seed = 5;
    // 4 + 4 + 2: the last one has its own specialisation.
    expectClose(run(options, 10), plainLoop(10, 3, 5, shuffle));
    EXPECT_TRUE(listener->notes.empty());
    EXPECT_EQ(listener->sizes,
              (std::vector<int64_t>{4, 4, 2, 4, 4, 2, 4, 4, 2}));
  }
}

TEST_F(TrainerTest, PrefetchEqualsSerial) {
  options.seed = 9;
  options.epochs = 20;
  std::vector<float> first = run(options, 10);
  std::vector<double> losses = listener->losses;
  options.prefetch = false;
  EXPECT_EQ(run(options, 10), first);
  EXPECT_EQ(listener->losses, losses);
}

TEST_F(TrainerTest, TailWithoutSpecialisation) {
  // 11 = 4 + 4 + 3.
  run(options);
  EXPECT_EQ(listener->notes,
            (std::vector<std::string>{
                "there is no specialisation of 'train_step' for the last 3 of "
                "11 samples (batches: 4, 2, 1); every epoch leaves them out"}));
  EXPECT_EQ(last.ownSamples, 24);
  options.tail = TailPolicy::Error;
  run(options);
  EXPECT_EQ(message, "there is no specialisation of 'train_step' for the last "
                     "3 of 11 samples (batches: 4, 2, 1)");
  options.tail = TailPolicy::Drop;
  run(options, 3);
  EXPECT_EQ(message, "there is no specialisation of 'train_step' for the last "
                     "3 of 3 samples (batches: 4, 2, 1), and there are no "
                     "others");
}

TEST_F(TrainerTest, ChoosesTheBatch) {
  options.batch = 2;
  run(options, 6);
  EXPECT_EQ(listener->sizes[0], 2);
  options.batch = 3;
  run(options, 6);
  EXPECT_EQ(message, "function 'train_step' has no specialisation for a batch "
                     "of 3; it has: 4, 2, 1");
}

TEST_F(TrainerTest, ResumesBitForBit) {
  options.epochs = 5;
  options.seed = 2;
  options.learningRate = 0.03;
  options.checkpoint = folder / "whole";
  run(options, 10);
  std::string whole = readText(folder / "whole");
  // Stopped after every possible number of steps.
  for (stopAfter = 1; stopAfter < 15; ++stopAfter) {
    TrainOptions part = options;
    part.checkpoint = folder / ("part" + std::to_string(stopAfter));
    run(part, 10);
    EXPECT_EQ(last.signal, SIGINT);
    EXPECT_EQ(last.steps, stopAfter);
    int64_t before = stopAfter;
    stopAfter = -1;
    part.resume = true;
    // Seed and learning rate are those of the checkpoint.
    part.seed.reset();
    part.learningRate.reset();
    run(part, 10);
    EXPECT_EQ(message, "");
    stopAfter = before;
    EXPECT_EQ(last.ownSteps, 15 - stopAfter);
    EXPECT_EQ(readText(part.checkpoint), whole) << stopAfter;
  }
}

TEST_F(TrainerTest, ResumeErrors) {
  options.checkpoint = folder / "c";
  options.resume = true;
  run(options, 10);
  EXPECT_EQ(listener->notes, (std::vector<std::string>{
                                 "there is no checkpoint '" + (folder / "c") +
                                 "' yet; starting from the beginning"}));
  run(options, 12);
  EXPECT_EQ(message, "'" + (folder / "c") +
                         "' is of a training with a number of samples of 10, "
                         "but this one has 12");
  options.seed = 1;
  run(options, 10);
  EXPECT_EQ(message, "'" + (folder / "c") +
                         "' is of a training with seed 0, but this one has 1");
  options.seed.reset();
  options.shuffle = false;
  run(options, 10);
  EXPECT_EQ(message,
            "'" + (folder / "c") +
                "' is of a training with shuffling on, but this one has off");
  options.shuffle = true;
  options.batch = 2;
  run(options, 10);
  EXPECT_EQ(message, "'" + (folder / "c") +
                         "' is of a training with a batch of 4, but this one "
                         "has 2");
  options.batch.reset();
  // All done: nothing runs, and the checkpoint stays.
  std::string before = readText(folder / "c");
  run(options, 10);
  EXPECT_EQ(message, "");
  EXPECT_EQ(last.ownSteps, 0);
  EXPECT_EQ(readText(folder / "c"), before);
}

TEST_F(TrainerTest, StepsAndCheckpointEvery) {
  options.epochs.reset();
  options.steps = 7;
  options.checkpoint = folder / "c";
  options.checkpointEvery = 2;
  run(options, 10);
  EXPECT_EQ(last.steps, 7);
  auto file = TensorFile::read(folder / "c");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->metadata["step"], "7");
  EXPECT_EQ(file->metadata["epoch"], "2");
  EXPECT_EQ(file->metadata["sample"], "4");
  options.steps.reset();
  run(options, 10);
  EXPECT_EQ(message, "the number of epochs or of steps must be given");
}

TEST_F(TrainerTest, NanIsNamed) {
  options.learningRate = 1e30;
  options.epochs = 10;
  options.checkpoint = folder / "c";
  run(options, 10);
  EXPECT_EQ(message, "");
  ASSERT_EQ(listener->notes.size(), 1u);
  EXPECT_EQ(listener->notes[0].rfind("the loss is ", 0), 0u);
  std::string note = listener->notes[0];
  options.stopOnNan = true;
  run(options, 10);
  EXPECT_EQ(message, note);
}

TEST_F(TrainerTest, FullDiskKeepsTheOldCheckpoint) {
  options.checkpoint = folder / "c";
  run(options, 10);
  std::string before = readText(folder / "c");
  options.seed = 8;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  // The bundle of the new session must still be written.
  NamedArrays data = linearData(10);
  Listener quiet;
  rlimit limit = {100, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  auto report = train(*session, data, options, quiet);
  setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.message(),
            "cannot write '" + (folder / "c") +
                "': File too large; the previous checkpoint is kept");
  EXPECT_EQ(readText(folder / "c"), before);
}

TEST_F(TrainerTest, InitialParameters) {
  float w[3] = {1, -2, 0.5f};
  ASSERT_TRUE(
      writeTensorFile(folder / "p", {}, {{"w", {ElementType::F32, {3}, w}}})
          .ok());
  options.parameters = folder / "p";
  // Already the solution.
  EXPECT_EQ(run(options, 10), (std::vector<float>{1, -2, 0.5f}));
  options.parameters = folder / "q";
  run(options, 10);
  EXPECT_EQ(message,
            "cannot open '" + (folder / "q") + "': No such file or directory");
}

TEST_F(TrainerTest, EvaluationCoversEverySample) {
  ASSERT_TRUE(session->initialise(3).ok());
  Listener quiet;
  for (int64_t samples : {1, 3, 4, 7, 11}) {
    NamedArrays data = linearData(samples);
    auto report = evaluate(*session, data, {}, quiet);
    ASSERT_TRUE(report.ok()) << report.message();
    EXPECT_EQ(report->samples, samples);
    auto *x = static_cast<float *>(data["x"].tensor.data.data());
    auto *y = static_cast<float *>(data["y"].tensor.data.data());
    double sum = 0;
    for (int64_t i = 0; i < samples; ++i) {
      double e =
          0.125 * x[3 * i] + 0.5 * x[3 * i + 1] + 0.25 * x[3 * i + 2] - y[i];
      sum += e * e;
    }
    EXPECT_NEAR(*report->metrics.find("loss"), sum / samples, 1e-6);
  }
}

TEST(Evaluate, CannotCover) {
  BundleParts parts = linearModel();
  Json kept = Json::array();
  for (Json &program : parts.target()["programs"])
    if (program["function"] != "evaluate" || program["dims"]["batch"] != 1)
      kept.push_back(program);
  parts.target()["programs"] = kept;
  TemporaryFolder folder;
  parts.write(folder / "m.nfb");
  auto session = makeSession(folder / "m.nfb");
  ASSERT_TRUE(session->initialise(0).ok());
  Listener quiet;
  auto report = evaluate(*session, linearData(7), {}, quiet);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.message(), "the specialisations of 'evaluate' (batches: 4, "
                              "2) cannot cover 7 samples");
}
