// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes arrays in NumPy's .npy format.

#ifndef NEOFLOW_TEST_LIB_NPY_NPY_H
#define NEOFLOW_TEST_LIB_NPY_NPY_H

#include <cstdint>
#include <string>
#include <vector>

namespace neoflow::test {

/// Element types, by NumPy's codes.
enum class NpyType { f32, f64, i8, i32, i64, u8, boolean };

/// NumPy's code of `type`, as in "<f4".
const char *toString(NpyType type);

/// An array in row-major order; elements are in `floats` for f32 and f64, in
/// `integers` otherwise.
struct NpyArray {
  NpyType type = NpyType::f32;
  std::vector<int64_t> shape;
  std::vector<double> floats;
  std::vector<int64_t> integers;

  bool isFloat() const { return type == NpyType::f32 || type == NpyType::f64; }
};

/// Reads `path`; on failure, returns false and says why in `error`.
bool readNpy(const std::string &path, NpyArray &array, std::string &error);

/// Writes `path`; on failure, returns false and says why in `error`.
bool writeNpy(const std::string &path, const NpyArray &array,
              std::string &error);

} // namespace neoflow::test

#endif // NEOFLOW_TEST_LIB_NPY_NPY_H
