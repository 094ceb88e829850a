// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neoflow-run and neoflow-bundle as their users meet them: output, messages,
// exit statuses, signals.

#include "TestBundle.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

class ToolTest : public ::testing::Test {
protected:
  ToolTest() {
    linearModel().write(folder / "linear.nfb");
    NamedArrays data = linearData(11);
    EXPECT_TRUE(writeNpy(folder / "x.npy", data["x"].tensor).ok());
    EXPECT_TRUE(writeNpy(folder / "y.npy", data["y"].tensor).ok());
    NamedArrays more = linearData(4000);
    EXPECT_TRUE(writeNpy(folder / "mx.npy", more["x"].tensor).ok());
    EXPECT_TRUE(writeNpy(folder / "my.npy", more["y"].tensor).ok());
    writeText(folder / "more.json",
              R"({"train": {"x": "mx.npy", "y": "my.npy"}})");
    writeText(folder / "tiny.json",
              R"({"train": {"x": "x.npy", "y": "y.npy"},
                  "test": {"x": "x.npy", "y": "y.npy"}})");
  }

  /// Runs a command in the folder; fills in `out` and `err`.
  int run(const std::string &command) {
    std::string shell =
        "cd " + folder.path + " && " + command + " >out.txt 2>err.txt";
    int status = std::system(shell.c_str());
    out = readText(folder / "out.txt");
    err = readText(folder / "err.txt");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int neoflowRun(const std::string &arguments) {
    return run(std::string(NEOFLOW_RUN) + " " + arguments);
  }
  int neoflowBundle(const std::string &arguments) {
    return run(std::string(NEOFLOW_BUNDLE) + " " + arguments);
  }
  /// Runs neoflow-run and expects exactly this message and exit status 1.
  void expectError(const std::string &arguments, const std::string &message) {
    EXPECT_EQ(neoflowRun(arguments), 1) << arguments;
    EXPECT_EQ(err, "neoflow-run: error: " + message + "\n") << arguments;
    EXPECT_EQ(out, "") << arguments;
  }

  TemporaryFolder folder;
  std::string out, err;
};

static const char trainMore[] = "train linear.nfb --data more ";
static const char trainTiny[] = "train linear.nfb --data tiny ";

TEST_F(ToolTest, TrainAndEvaluate) {
  ASSERT_EQ(neoflowRun(std::string(trainTiny) + "--epochs 30"), 0) << err;
  EXPECT_EQ(out.substr(out.rfind("test accuracy")),
            "test accuracy: 1.0000\ncheckpoint: linear.safetensors\n");
  EXPECT_NE(err.find("epoch 30/30: loss "), std::string::npos);
  ASSERT_EQ(neoflowRun("evaluate linear.nfb --data tiny --params "
                       "linear.safetensors"),
            0)
      << err;
  EXPECT_NE(out.find("test accuracy: 1.0000\n"), std::string::npos);
  ASSERT_EQ(neoflowRun("evaluate linear.nfb --input x=x.npy --label y=y.npy "
                       "--params linear.safetensors --json"),
            0)
      << err;
  EXPECT_EQ(Json::parse(out)["samples"], 11);
}

TEST_F(ToolTest, TrainReportsJson) {
  ASSERT_EQ(neoflowRun(std::string(trainTiny) + "--epochs 2 --json"), 0) << err;
  Json report = Json::parse(out);
  EXPECT_EQ(report["steps"], 4);
  EXPECT_EQ(report["losses"].size(), 4u);
  EXPECT_EQ(report["epochs"].size(), 2u);
  EXPECT_EQ(report["test_samples"], 11);
}

TEST_F(ToolTest, EqualRunsGiveEqualCheckpoints) {
  for (const char *name : {"a", "b"})
    ASSERT_EQ(neoflowRun(std::string(trainTiny) +
                         "--epochs 5 --seed 3 "
                         "--checkpoint " +
                         name),
              0);
  EXPECT_EQ(readText(folder / "a"), readText(folder / "b"));
}

TEST_F(ToolTest, SignalsSaveAndResume) {
  ASSERT_EQ(
      neoflowRun(std::string(trainMore) + "--steps 50000 --checkpoint all"), 0);
  for (auto [signal, code] : {std::pair(SIGINT, 130), {SIGTERM, 143}}) {
    std::string command =
        std::string("exec ") + NEOFLOW_RUN + " " + trainMore +
        "--steps 50000 --checkpoint-every 2000 --checkpoint part";
    run("rm -f part");
    pid_t child = fork();
    if (child == 0) {
      if (chdir(folder.path.c_str()) != 0 || !freopen("err.txt", "w", stderr) ||
          !freopen("out.txt", "w", stdout))
        _exit(99);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(99);
    }
    // Training has begun when the first checkpoint is there.
    for (int wait = 0;
         access((folder / "part").c_str(), F_OK) != 0 && wait < 20000; ++wait)
      usleep(1000);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), code);
    err = readText(folder / "err.txt");
    EXPECT_NE(err.find("neoflow-run: note: stopped after step "),
              std::string::npos)
        << err;
    ASSERT_EQ(neoflowRun(std::string(trainMore) +
                         "--steps 50000 --checkpoint part --resume"),
              0);
    EXPECT_EQ(readText(folder / "part"), readText(folder / "all"));
  }
}

TEST_F(ToolTest, SurvivesAKill) {
  std::string options = "--steps 50000 --checkpoint-every 500 --checkpoint ";
  ASSERT_EQ(neoflowRun(std::string(trainMore) + options + "all"), 0);
  // However often it dies, it never has to begin again.
  std::string part =
      std::string(NEOFLOW_RUN) + " " + trainMore + options + "part --resume";
  for (int i = 0; i < 5; ++i)
    run("timeout -s KILL 0.15 " + part);
  ASSERT_EQ(run(part), 0) << err;
  EXPECT_EQ(readText(folder / "part"), readText(folder / "all"));
}

TEST_F(ToolTest, Call) {
  ASSERT_EQ(run("python3 -c \"import struct; h=b\\\"{'descr': '<f4', "
                "'fortran_order': False, 'shape': (1000,), }\\\\n\\\"; "
                "open('a.npy','wb').write(b'\\x93NUMPY\\x01\\x00'+"
                "struct.pack('<H',len(h))+h+struct.pack('<1000f',"
                "*range(1000)))\""),
            0)
      << err;
  ASSERT_EQ(neoflowRun("call linear.nfb --function add --input a.npy --input "
                       "b=a.npy --output-dir results"),
            0)
      << err;
  EXPECT_EQ(out, "results/0.npy: c f32[1000]\n");
  Expected<Array> sum = readArray(folder / "results/0.npy");
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(static_cast<float *>(sum->tensor.data.data())[999], 1998);
  // A file for each argument fills parameters as well.
  NamedArrays data = linearData(2);
  ASSERT_TRUE(writeNpy(folder / "x2.npy", data["x"].tensor).ok());
  float w[3] = {1, 1, 1};
  ASSERT_TRUE(writeNpy(folder / "w.npy", {ElementType::F32, {3}, w}).ok());
  ASSERT_EQ(neoflowRun("call linear.nfb --function predict --input w.npy "
                       "--input x2.npy --output-dir results --json"),
            0)
      << err;
  EXPECT_EQ(Json::parse(out)[0]["shape"], Json::array({2}));
}

TEST_F(ToolTest, Bench) {
  ASSERT_EQ(neoflowRun("bench linear.nfb --function add --seconds 0.05 --json"),
            0)
      << err;
  Json report = Json::parse(out);
  EXPECT_GT(report["machine"]["flops_one_thread"], 1e8);
  EXPECT_EQ(report["functions"].size(), 1u);
  EXPECT_EQ(report["functions"][0]["kernels"][0]["kernel"], "add");
}

TEST_F(ToolTest, RunErrors) {
  expectError("train nothing.nfb --data tiny", "'nothing.nfb': No such file");
  expectError("train x.npy --data tiny",
              "'x.npy': not a zip file, or not all of it");
  expectError("train linear.nfb --data tiny --device cuda",
              "there is no device 'cuda'; devices are: cpu");
  expectError("train linear.nfb --data tiny --target other",
              "'linear.nfb': there is no target 'other' for device 'cpu' that "
              "runs here; it has: host (cpu)");
  expectError("train linear.nfb --input x.npy",
              "expected --input NAME=FILE, but got 'x.npy'");
  expectError("train linear.nfb --input x=x.npy",
              "function 'train_step' needs data for 'y': give --label y=FILE");
  expectError("train linear.nfb --input x=z.npy",
              "cannot open 'z.npy': No such file or directory");
  expectError("train linear.nfb --input x=y.npy --label y=y.npy",
              "'y.npy' is f32[11], but 'x' of 'train_step' is f32[batch, 3]: "
              "expected 3 elements per sample, but got 1");
  expectError("train linear.nfb --data tiny --tail error",
              "there is no specialisation of 'train_step' for the last 3 of 11 "
              "samples (batches: 4, 2, 1)");
  expectError("train linear.nfb --data tiny --batch 5",
              "function 'train_step' has no specialisation for a batch of 5; "
              "it has: 4, 2, 1");
  expectError("train linear.nfb --data tiny --specialize batch=3",
              "--specialize is for .mlir files, but 'linear.nfb' is a bundle");
  expectError("evaluate linear.nfb --data tiny",
              "the model has parameters: give --params FILE");
  expectError("call linear.nfb --function sub --output-dir r",
              "there is no function 'sub'; functions are: train_step, "
              "evaluate, predict, init, add");
  expectError("call linear.nfb --function add --output-dir r --input x.npy",
              "function 'add' takes 2 more inputs, but got 1; its arguments "
              "are (a: f32[1000], b: f32[1000])");
  expectError("call linear.nfb --function predict --output-dir r --input "
              "z=x.npy",
              "function 'predict' has no argument 'z'; its arguments are (w: "
              "f32[3] (param), x: f32[batch, 3] (input))");
  expectError("call linear.nfb --function predict --output-dir r --input x.npy",
              "function 'predict' has no specialisation for batch=11; it has: "
              "batch=4; batch=2; batch=1");
  expectError("train missing.mlir --data tiny",
              "cannot open 'missing.mlir': No such file or directory");
}

TEST_F(ToolTest, NanStopsOnDemand) {
  EXPECT_EQ(neoflowRun(std::string(trainTiny) + "--epochs 20 --tail drop "
                                                "--learning-rate 1e30 "
                                                "--stop-on-nan"),
            1);
  EXPECT_NE(err.find("neoflow-run: error: the loss is "), std::string::npos)
      << err;
  EXPECT_NE(err.find(" at step "), std::string::npos) << err;
}

TEST_F(ToolTest, Usage) {
  EXPECT_EQ(neoflowRun(""), 2);
  EXPECT_EQ(neoflowRun("fly"), 2);
  EXPECT_EQ(neoflowRun("train"), 2);
  EXPECT_EQ(neoflowRun("train linear.nfb --epochs many"), 2);
  EXPECT_EQ(neoflowRun("train linear.nfb --threads 0"), 2);
  EXPECT_EQ(neoflowRun("train linear.nfb --tail keep"), 2);
  EXPECT_EQ(err.rfind("neoflow-run: error: --tail", 0), 0u) << err;
  EXPECT_EQ(neoflowRun("train linear.nfb --colour red"), 2);
  EXPECT_EQ(neoflowRun("--version"), 0);
  EXPECT_EQ(out, "neoflow-run 0.1.0\n");
  EXPECT_EQ(neoflowRun("train --help"), 0);
  EXPECT_NE(out.find("--learning-rate"), std::string::npos);
}

TEST_F(ToolTest, CompilesModels) {
  // A compiler that copies a bundle and notes how it was called.
  writeText(folder / "compiler", "#!/bin/sh\necho \"$@\" >args.txt\n"
                                 "echo compiling >&2\ncp linear.nfb \"$3\"\n");
  writeText(folder / "broken",
            "#!/bin/sh\necho 'm.mlir:1:1: error: bad' >&2\nexit 1\n");
  ASSERT_EQ(run("chmod +x compiler broken; touch m.mlir"), 0);
  // A copy of the tool: beside the original there may be a real compiler.
  ASSERT_EQ(run(std::string("cp ") + NEOFLOW_RUN + " run"), 0);
  ASSERT_EQ(run("NEOFLOW_COMPILE=./compiler ./run train m.mlir --data "
                "./tiny.json --specialize batch=4"),
            0)
      << err;
  EXPECT_EQ(err.rfind("compiling\n", 0), 0u) << err;
  std::string arguments = readText(folder / "args.txt");
  EXPECT_NE(arguments.find("--specialize=batch=4 --samples=11"),
            std::string::npos)
      << arguments;
  EXPECT_NE(out.find("checkpoint: m.safetensors"), std::string::npos);
  EXPECT_EQ(run("NEOFLOW_COMPILE=./broken ./run train m.mlir --data tiny"), 1);
  EXPECT_EQ(err, "m.mlir:1:1: error: bad\n");
  EXPECT_EQ(run("NEOFLOW_COMPILE=./absent ./run train m.mlir --data tiny"), 1);
  EXPECT_EQ(err, "neoflow-run: error: cannot run './absent': No such file or "
                 "directory; NEOFLOW_COMPILE may name the compiler\n");
}

TEST_F(ToolTest, BundleTool) {
  ASSERT_EQ(neoflowBundle("inspect linear.nfb"), 0) << err;
  for (const char *text :
       {"producer: test 1.2, build b, LLVM 22", "flags: --one",
        "x: f32[batch, 3]  input", "train_step (batch=4): 3 launches",
        "from: compute at linear.mlir:3:8",
        "schedule: #neoflow.schedule<none>"})
    EXPECT_NE(out.find(text), std::string::npos) << text;
  ASSERT_EQ(neoflowBundle("inspect linear.nfb --json"), 0);
  EXPECT_EQ(Json::parse(out)["model"], "linear");
  EXPECT_EQ(neoflowBundle("verify linear.nfb"), 0);
  EXPECT_EQ(out, "linear.nfb: good\n");
  writeText(folder / "cut.nfb", readText(folder / "linear.nfb").substr(0, 999));
  EXPECT_EQ(neoflowBundle("verify cut.nfb"), 1);
  EXPECT_EQ(err, "neoflow-bundle: error: 'cut.nfb': not a zip file, or not all "
                 "of it\n");
  EXPECT_EQ(neoflowBundle("verify"), 2);
  EXPECT_EQ(neoflowBundle("explode linear.nfb"), 2);
}

TEST_F(ToolTest, LinksNoCompiler) {
  ASSERT_EQ(run(std::string("ldd ") + NEOFLOW_RUN), 0);
  EXPECT_EQ(out.find("LLVM"), std::string::npos);
  EXPECT_EQ(out.find("MLIR"), std::string::npos);
  EXPECT_NE(out.find("libNeoFlowRuntime"), std::string::npos);
}
