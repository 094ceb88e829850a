// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Safetensors files and checkpoints, and what happens when the disk is full.

#include "TestBundle.h"

#include <csignal>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

class CheckpointTest : public ::testing::Test {
protected:
  CheckpointTest() {
    linearModel().write(folder / "m.nfb");
    session = makeSession(folder / "m.nfb");
    EXPECT_TRUE(session->initialise(3).ok());
  }

  std::string loadError(const std::string &content) {
    writeText(folder / "bad", content);
    auto position = loadCheckpoint(folder / "bad", *session);
    std::string prefix = "'" + (folder / "bad") + "'";
    if (position.ok())
      return "loaded";
    EXPECT_EQ(position.message().rfind(prefix, 0), 0u) << position.message();
    return position.message().substr(prefix.size());
  }

  TemporaryFolder folder;
  std::unique_ptr<Session> session;
};

/// Limits the size of files for the life of the object.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before); }

private:
  rlimit before;
};

TEST_F(CheckpointTest, RoundTrip) {
  Position position;
  position.step = 12;
  position.epoch = 3;
  position.sample = 8;
  position.seed = UINT64_MAX;
  position.samples = 10;
  position.batch = 4;
  position.shuffle = false;
  position.learningRate = 0.1;
  ASSERT_TRUE(saveCheckpoint(folder / "c", *session, position).ok());
  auto other = makeSession(folder / "m.nfb");
  auto loaded = loadCheckpoint(folder / "c", *other);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  EXPECT_EQ(loaded->step, 12);
  EXPECT_EQ(loaded->epoch, 3);
  EXPECT_EQ(loaded->sample, 8);
  EXPECT_EQ(loaded->seed, UINT64_MAX);
  EXPECT_EQ(loaded->samples, 10);
  EXPECT_EQ(loaded->batch, 4);
  EXPECT_FALSE(loaded->shuffle);
  EXPECT_EQ(*loaded->learningRate, 0.1);
  EXPECT_EQ(valuesOf(*other, "w"), valuesOf(*session, "w"));
  ASSERT_TRUE(saveCheckpoint(folder / "d", *other, *loaded).ok());
  EXPECT_EQ(readText(folder / "c"), readText(folder / "d"));
}

TEST_F(CheckpointTest, FullDiskKeepsTheOldOne) {
  ASSERT_TRUE(saveCheckpoint(folder / "c", *session, {}).ok());
  std::string before = readText(folder / "c");
  ASSERT_TRUE(session->initialise(4).ok());
  Status status = Status::success();
  {
    FileSizeLimit limit(64);
    status = saveCheckpoint(folder / "c", *session, {});
  }
  EXPECT_EQ(status.message(),
            "cannot write '" + (folder / "c") + "': File too large");
  EXPECT_EQ(readText(folder / "c"), before);
  EXPECT_NE(access((folder / "c.tmp").c_str(), F_OK), 0);
}

TEST_F(CheckpointTest, NoSpaceLeft) {
  // Whatever is written to this name goes to a device that is full.
  ASSERT_EQ(symlink("/dev/full", (folder / "c.tmp").c_str()), 0);
  Status status = saveCheckpoint(folder / "c", *session, {});
  EXPECT_FALSE(status.ok());
  EXPECT_NE(access((folder / "c").c_str(), F_OK), 0);
}

TEST_F(CheckpointTest, UnwritableFolder) {
  EXPECT_EQ(saveCheckpoint("/nowhere/c", *session, {}).message(),
            "cannot write '/nowhere/c': No such file or directory");
}

TEST_F(CheckpointTest, TwoWriters) {
  auto first = ReplacingFile::create(folder / "c");
  ASSERT_TRUE(first.ok());
  auto second = ReplacingFile::create(folder / "c");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.message(), "cannot write '" + (folder / "c") +
                                  "': another process is writing it");
}

TEST_F(CheckpointTest, Damaged) {
  ASSERT_TRUE(saveCheckpoint(folder / "c", *session, {}).ok());
  std::string good = readText(folder / "c");
  EXPECT_EQ(loadError(""), ": not a safetensors file, or truncated");
  EXPECT_EQ(loadError(good.substr(0, 20)),
            ": not a safetensors file, or truncated");
  EXPECT_EQ(loadError(good.substr(0, good.size() - 4)),
            ": tensor 'm' lies outside the file (truncated?)");
  std::string huge = good;
  std::memset(huge.data(), 0xff, 8);
  EXPECT_EQ(loadError(huge), ": not a safetensors file, or truncated");
}

TEST_F(CheckpointTest, OtherModels) {
  float values[4] = {1, 2, 3, 4};
  auto parametersError = [&](std::vector<NamedTensor> tensors) {
    EXPECT_TRUE(writeTensorFile(folder / "p", {}, tensors).ok());
    std::string message = loadParameters(folder / "p", *session).message();
    return message.empty() ? message
                           : message.substr((folder / "p").size() + 4);
  };
  EXPECT_EQ(parametersError({}), "there is no tensor for param 'w'");
  EXPECT_EQ(parametersError({{"w", {ElementType::F32, {4}, values}}}),
            "'w' is f32[4], but the model has f32[3]");
  EXPECT_EQ(parametersError({{"w", {ElementType::I32, {3}, values}}}),
            "'w' is i32[3], but the model has f32[3]");
  EXPECT_EQ(parametersError({{"w", {ElementType::F32, {3}, values}},
                             {"v", {ElementType::F32, {3}, values}}}),
            "the model has no parameter or state 'v'");
  // Nothing was half loaded, and states may be absent.
  EXPECT_EQ(valuesOf(*session, "w"), (std::vector<float>{0.125f, 0.5f, 0.25f}));
  EXPECT_EQ(parametersError({{"w", {ElementType::F32, {3}, values}}}), "");
  EXPECT_EQ(valuesOf(*session, "w"), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(loadError(readText(folder / "p")),
            " is not a checkpoint of this runtime, so that training cannot "
            "resume from it; --params loads parameters alone");
}
