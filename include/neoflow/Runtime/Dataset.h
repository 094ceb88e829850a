// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples for the inputs and labels of a function: arrays whose leading axis
// counts samples, converted when a batch is gathered. And presets, small files
// that name such arrays.

#ifndef NEOFLOW_RUNTIME_DATASET_H
#define NEOFLOW_RUNTIME_DATASET_H

#include "neoflow/Runtime/ArrayFile.h"
#include "neoflow/Runtime/Manifest.h"
#include "neoflow/Runtime/Status.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace neoflow::runtime {

/// Arrays by the name of the input or label that they are for.
using NamedArrays = std::map<std::string, Array>;

class Dataset {
public:
  /// Gives each argument of `function` with role input or label its array.
  /// Per sample an array must have as many elements as the argument, whose
  /// named dimensions get their sizes from `dims`. Errors name the file and
  /// both shapes. The arrays must outlive the data set.
  static Expected<Dataset> create(const Function &function, const Dims &dims,
                                  const NamedArrays &arrays);

  int64_t samples() const { return count; }
  /// What the user should know, one line each.
  const std::vector<std::string> &notes() const { return remarks; }

  /// One argument of the function.
  struct Column {
    /// Position among the arguments of the function.
    size_t argument = 0;
    /// Bytes of a sample in the type of the argument.
    size_t sampleBytes = 0;

  private:
    friend class Dataset;
    const uint8_t *source = nullptr;
    size_t sourceBytes = 0;
    size_t elements = 0;
    ConvertFn convert = nullptr;
  };
  const std::vector<Column> &columns() const { return parts; }

  /// Writes sample `sample` of a column.
  void get(const Column &column, int64_t sample, void *destination) const {
    column.convert(column.source + sample * column.sourceBytes, destination,
                   column.elements);
  }

private:
  int64_t count = 0;
  std::vector<Column> parts;
  std::vector<std::string> remarks;
};

/// A description of data: which file holds which input.
struct Preset {
  std::string description;
  /// Input or label, and its file.
  std::map<std::string, std::string> train;
  std::map<std::string, std::string> test;
};

/// Reads a preset: NAME or a path of a JSON file. NAME.json is looked for in
/// the current folder, in those of NEOFLOW_DATA_PATH (separated by colons), and
/// in `shareFolder`; the error lists where. Relative paths inside are taken
/// from the folder of the preset.
Expected<Preset> readPreset(const std::string &nameOrPath,
                            const std::string &shareFolder);

/// Reads the file of each name.
Expected<NamedArrays>
readArrays(const std::map<std::string, std::string> &files);

/// Samples in the arrays, or nothing when only texts are there, whose samples
/// depend on the function. Fails when the arrays disagree.
Expected<std::optional<int64_t>> countSamples(const NamedArrays &arrays);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_DATASET_H
