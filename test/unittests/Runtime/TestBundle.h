// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hand-made bundle for tests: a linear model trained with momentum, in three
// batch sizes, whose kernels are C code that the system's compiler builds.

#ifndef NEOFLOW_TEST_UNITTESTS_RUNTIME_TESTBUNDLE_H
#define NEOFLOW_TEST_UNITTESTS_RUNTIME_TESTBUNDLE_H

#include "neoflow/Runtime/Runtime.h"

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace neoflow::runtime::test {

using Json = nlohmann::ordered_json;

/// A folder that disappears with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  const std::string path;
};

std::string readText(const std::string &path);
void writeText(const std::string &path, const std::string &text);

/// What goes into a bundle; tests change it before they write it.
struct BundleParts {
  Json manifest;
  std::map<std::string, std::string> entries;
  /// Entries whose checksum the manifest shall not get right.
  bool fillChecksums = true;
  bool compress = false;

  void write(const std::string &path);
  Json &target() { return manifest["targets"][0]; }
  /// The first program of a function.
  Json &program(const std::string &function);
};

/// The model: train_step, predict, evaluate for batches of 4, 2 and 1; init;
/// and `add`, which adds two f32[1000] with 100 workgroups.
BundleParts linearModel();

/// Compiles C code to a shared object and returns its bytes.
std::string compileC(const std::string &code);

std::shared_ptr<const Bundle> openGood(const std::string &path);
std::unique_ptr<Session> makeSession(const std::string &path,
                                     unsigned threads = 2);

/// The message of opening a bundle that must not open.
std::string openError(BundleParts &parts);
/// The message of creating a session that must not be created.
std::string sessionError(BundleParts &parts);

/// `samples` samples of three features and a target, the same every time.
NamedArrays linearData(int64_t samples);

/// The values of a parameter.
std::vector<float> valuesOf(const Session &session, const std::string &name);

} // namespace neoflow::runtime::test

#endif // NEOFLOW_TEST_UNITTESTS_RUNTIME_TESTBUNDLE_H
