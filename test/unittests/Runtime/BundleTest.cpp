// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening and verifying bundles, mostly bad ones.

#include "SHA256.h"
#include "TestBundle.h"

#include <chrono>

#include <gtest/gtest.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

static std::string verifyError(BundleParts &parts) {
  TemporaryFolder folder;
  parts.write(folder / "m.nfb");
  auto bundle = openGood(folder / "m.nfb");
  if (!bundle)
    return "did not open";
  std::string message = bundle->verify().message();
  std::string prefix = "'" + (folder / "m.nfb") + "': ";
  return message.rfind(prefix, 0) == 0 ? message.substr(prefix.size())
                                       : message;
}

TEST(SHA256, KnownDigests) {
  EXPECT_EQ(sha256("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca4"
                           "95991b7852b855");
  EXPECT_EQ(sha256("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9c"
                              "b410ff61f20015ad");
  std::string text(1000000, 'a');
  EXPECT_EQ(sha256(text.data(), text.size()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Bundle, OpensAndVerifies) {
  BundleParts parts = linearModel();
  EXPECT_EQ(openError(parts), "opened");
  EXPECT_EQ(verifyError(parts), "");
  TemporaryFolder folder;
  parts.write(folder / "m.nfb");
  auto bundle = openGood(folder / "m.nfb");
  EXPECT_EQ(bundle->manifest().model, "linear");
  EXPECT_EQ(bundle->entries().size(), 3u);
  EXPECT_EQ(bundle->manifest().targets[0].kernels[0].operators[0].location,
            "linear.mlir:3:8");
}

TEST(Bundle, LoadsQuickly) {
  TemporaryFolder folder;
  linearModel().write(folder / "m.nfb");
  auto start = std::chrono::steady_clock::now();
  auto session = makeSession(folder / "m.nfb");
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_LT(time.count(), 0.5); // Generous for a loaded machine.
}

TEST(Bundle, MissingFile) {
  auto bundle = Bundle::open("/nowhere/m.nfb");
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.message(), "'/nowhere/m.nfb': No such file");
}

TEST(Bundle, EveryTruncationIsAnError) {
  TemporaryFolder folder;
  linearModel().write(folder / "m.nfb");
  std::string whole = readText(folder / "m.nfb");
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97) {
    writeText(folder / "cut.nfb", whole.substr(0, size));
    auto bundle = Bundle::open(folder / "cut.nfb");
    ASSERT_FALSE(bundle.ok()) << size;
    EXPECT_EQ(bundle.message(), "'" + (folder / "cut.nfb") +
                                    "': not a zip file, or not all of it");
  }
}

TEST(Bundle, EveryFlippedByteIsFoundOrHarmless) {
  TemporaryFolder folder;
  linearModel().write(folder / "m.nfb");
  std::string whole = readText(folder / "m.nfb");
  size_t found = 0, tried = 0;
  for (size_t at = 0; at < whole.size();
       at += 1 + whole.size() / 199, ++tried) {
    std::string damaged = whole;
    damaged[at] ^= 0x41;
    writeText(folder / "bad.nfb", damaged);
    auto bundle = Bundle::open(folder / "bad.nfb");
    found += !bundle.ok() || !(*bundle)->verify().ok();
  }
  // Only dates and such in the directory of the zip have no checksum.
  EXPECT_GE(found, tried * 95 / 100);
}

TEST(Bundle, NotABundle) {
  TemporaryFolder folder;
  BundleParts parts = linearModel();
  parts.write(folder / "m.nfb");
  std::string command = "cd " + folder.path +
                        " && printf x > a && python3 -c \"import zipfile; "
                        "zipfile.ZipFile('z.nfb','w').write('a')\"";
  ASSERT_EQ(std::system(command.c_str()), 0);
  auto bundle = Bundle::open(folder / "z.nfb");
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.message(), "'" + (folder / "z.nfb") +
                                  "': not a bundle: there is no entry "
                                  "'manifest.json'");
}

TEST(Bundle, NewerFormat) {
  BundleParts parts = linearModel();
  parts.manifest["format"] = 3;
  parts.manifest.erase("functions");
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: expected format 2 or older, but found "
            "format 3, written by test 1.2");
}

TEST(Bundle, MalformedManifest) {
  BundleParts parts = linearModel();
  parts.manifest.erase("targets");
  EXPECT_EQ(openError(parts), "'FILE': manifest.json: targets is missing");
  parts = linearModel();
  parts.manifest["functions"][0]["arguments"][2]["type"] = "f33";
  EXPECT_EQ(openError(parts), "'FILE': manifest.json: functions[0].arguments[2]"
                              ".type: unknown type 'f33'");
  parts = linearModel();
  parts.manifest["functions"][0]["arguments"][2]["role"] = "guess";
  EXPECT_EQ(openError(parts), "'FILE': manifest.json: functions[0].arguments[2]"
                              ".role: unknown role 'guess'");
  parts = linearModel();
  parts.target()["kernels"][0]["workspace"] = -1;
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: targets[0].kernels[0].workspace: expected "
            "an integer that is not negative");
}

TEST(Bundle, IndicesOutOfRange) {
  BundleParts parts = linearModel();
  parts.program("train_step")["launches"][0]["kernel"] = 99;
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: target 'host', program of 'train_step' "
            "(batch=4): launch 0 is of kernel 99, which does not exist");
  parts = linearModel();
  parts.program("train_step")["launches"][0]["buffers"][0] = 50;
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: target 'host', program of 'train_step' "
            "(batch=4): launch 0 uses buffer 50, which does not exist");
  parts = linearModel();
  parts.program("train_step")["buffers"][7]["offset"] = 1 << 20;
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: target 'host', program of 'train_step' "
            "(batch=4): buffer 7 ends outside the arena of 128 bytes");
  parts = linearModel();
  parts.program("train_step")["buffers"][0]["bytes"] = 8;
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: target 'host', program of 'train_step' "
            "(batch=4): buffer 0 has 8 bytes, but 'w' takes 12");
  parts = linearModel();
  parts.program("train_step")["results"][2] = 5;
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: target 'host', program of 'train_step' "
            "(batch=4): buffer 5 has 4 bytes, but 'w' takes 12");
  parts = linearModel();
  parts.program("train_step")["results"][2] = 1;
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: target 'host', program of 'train_step' "
            "(batch=4): new state 'w' does not have the buffer of its "
            "argument");
  parts = linearModel();
  parts.program("train_step")["dims"] = Json::object();
  EXPECT_EQ(openError(parts),
            "'FILE': manifest.json: target 'host', program of 'train_step' "
            "(no named dimensions): 'x' is f32[batch, 3], and one of its "
            "dimensions has no size");
}

TEST(Bundle, WrongChecksum) {
  BundleParts parts = linearModel();
  parts.fillChecksums = false;
  parts.manifest["checksums"] = {
      {"module.mlir", sha256("// the module\n", 14)},
      {"targets/host/kernels.so", std::string(64, '0')}};
  std::string object = parts.entries["targets/host/kernels.so"];
  std::string expected = "entry 'targets/host/kernels.so' has checksum " +
                         sha256(object.data(), object.size()) +
                         ", but the manifest says " + std::string(64, '0');
  EXPECT_EQ(sessionError(parts), "'FILE': " + expected);
  EXPECT_EQ(verifyError(parts), expected);
}

TEST(Bundle, MissingChecksumAndEntry) {
  BundleParts parts = linearModel();
  parts.fillChecksums = false;
  EXPECT_EQ(sessionError(parts), "'FILE': the manifest has no checksum of "
                                 "entry 'targets/host/kernels.so'");
  parts = linearModel();
  parts.entries.erase("targets/host/kernels.so");
  EXPECT_EQ(sessionError(parts),
            "'FILE': there is no entry 'targets/host/kernels.so'");
  parts = linearModel();
  parts.manifest["checksums"]["extra"] = "00";
  EXPECT_EQ(verifyError(parts), "there is no entry 'extra'");
}

TEST(Bundle, CompressedEntriesAreNotTheFormat) {
  BundleParts parts = linearModel();
  parts.compress = true;
  EXPECT_EQ(verifyError(parts), "entry 'manifest.json' is compressed, but "
                                "entries must be stored");
}

TEST(Bundle, OverlappingLiveRanges) {
  BundleParts parts = linearModel();
  Json &program = parts.program("train_step");
  program["buffers"].push_back(
      {{"kind", "arena"}, {"offset", 64}, {"bytes", 16}});
  // Written between the writing and the last reading of buffer 7.
  program["launches"][1]["buffers"].push_back(8);
  program["launches"][2]["buffers"].push_back(8);
  EXPECT_EQ(verifyError(parts),
            "target 'host': program of 'train_step' (batch=4): buffers 7 and 8 "
            "overlap in the arena and are both in use at launch 1");
}

TEST(Bundle, MissingConstant) {
  BundleParts parts = linearModel();
  parts.program("train_step")["buffers"].push_back(
      {{"kind", "constant"}, {"name", "c0"}, {"bytes", 4}});
  EXPECT_EQ(verifyError(parts),
            "target 'host': constant 'c0' is not in constants.safetensors");
}

TEST(Bundle, TargetForAnotherDeviceOrCPU) {
  BundleParts parts = linearModel();
  parts.target()["device"] = "cuda";
  EXPECT_EQ(sessionError(parts),
            "'FILE': there is no target for device 'cpu' that runs here; it "
            "has: host (cuda)");
  parts = linearModel();
  parts.target()["requires"] = {"sse2", "warp-drive"};
  EXPECT_EQ(sessionError(parts),
            "'FILE': there is no target for device 'cpu' that runs here; it "
            "has: host (cpu); target 'host' requires warp-drive, which this "
            "CPU does not have");
}

TEST(Bundle, BadObjects) {
  BundleParts parts = linearModel();
  parts.entries["targets/host/kernels.so"] =
      compileC("const int neoflow_abi_version = 7;");
  EXPECT_EQ(sessionError(parts),
            "'FILE': target 'host': its object has ABI version 7, but this "
            "runtime has version 1");
  EXPECT_EQ(verifyError(parts), "target 'host': its object has ABI version 7, "
                                "but this runtime has version 1");
  parts.entries["targets/host/kernels.so"] = compileC("int unrelated;");
  EXPECT_EQ(sessionError(parts), "'FILE': target 'host': its object does not "
                                 "export 'neoflow_abi_version'");
  parts.entries["targets/host/kernels.so"] =
      compileC("const int neoflow_abi_version = 1;");
  EXPECT_EQ(sessionError(parts),
            "'FILE': target 'host': its object does not export 'residual_4' of "
            "kernel 'residual_4'");
  parts.entries["targets/host/kernels.so"] = "not an object";
  EXPECT_NE(sessionError(parts).find("cannot load the kernels"),
            std::string::npos);
}
