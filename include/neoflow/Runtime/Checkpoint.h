// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named tensors in a file (the safetensors layout), and checkpoints: the
// parameters and states of a session with its position in the training.

#ifndef NEOFLOW_RUNTIME_CHECKPOINT_H
#define NEOFLOW_RUNTIME_CHECKPOINT_H

#include "neoflow/Runtime/Status.h"
#include "neoflow/Runtime/Tensor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace neoflow::runtime {

class Session;

/// A safetensors file in memory.
struct TensorFile {
  struct Entry {
    std::string name;
    ElementType type = ElementType::F32;
    Shape shape;
    /// Where its bytes begin in `content`.
    size_t offset = 0;
    size_t bytes = 0;
  };

  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
  std::vector<uint8_t> content;

  /// Checks the whole layout; the errors do not name the file.
  static Expected<TensorFile> parse(std::vector<uint8_t> content);
  static Expected<TensorFile> read(const std::string &path);

  const Entry *find(const std::string &name) const;
  const uint8_t *data(const Entry &entry) const {
    return content.data() + entry.offset;
  }
};

/// A tensor to be written under a name.
struct NamedTensor {
  std::string name;
  TensorRef tensor;
};

/// Replaces the file at `path` by these tensors, all or nothing. Equal tensors
/// and metadata give equal bytes.
Status writeTensorFile(const std::string &path,
                       const std::map<std::string, std::string> &metadata,
                       const std::vector<NamedTensor> &tensors);

/// Where a training stands.
struct Position {
  /// Steps done.
  int64_t step = 0;
  /// Epochs done.
  int64_t epoch = 0;
  /// Samples of the current epoch that are done.
  int64_t sample = 0;
  uint64_t seed = 0;
  /// Samples of the data, samples of a full batch.
  int64_t samples = 0;
  int64_t batch = 0;
  bool shuffle = true;
  std::optional<double> learningRate;
};

/// Writes every parameter and state of the session, and the position. On any
/// failure the previous file is kept.
Status saveCheckpoint(const std::string &path, const Session &session,
                      const Position &position);

/// Puts the parameters and states of a checkpoint, all of them, into a session
/// and returns the position.
Expected<Position> loadCheckpoint(const std::string &path, Session &session);

/// Puts the tensors of any safetensors file into a session. Every parameter
/// must be there; states may be absent and then stay as they are.
Status loadParameters(const std::string &path, Session &session);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_CHECKPOINT_H
