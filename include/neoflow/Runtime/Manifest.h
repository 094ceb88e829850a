// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The content of a bundle's manifest as plain structs, its parser and the
// checks that make every later use of an index safe. docs/BundleFormat.md is
// the specification.

#ifndef NEOFLOW_RUNTIME_MANIFEST_H
#define NEOFLOW_RUNTIME_MANIFEST_H

#include "neoflow/Runtime/Status.h"
#include "neoflow/Runtime/Tensor.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace neoflow::runtime {

/// The newest format that this runtime reads.
constexpr int64_t bundleFormat = 2;

enum class Role : uint8_t {
  None,
  Param,
  State,
  Input,
  Label,
  Seed,
  Step,
  LearningRate,
  Loss,
  Metric,
  NewState,
};

/// The role as the manifest spells it.
const char *name(Role role);

/// One extent of a shape: a name, or a size when the name is empty.
struct Dimension {
  std::string name;
  int64_t size = 0;
};

/// Sizes of named dimensions.
using Dims = std::map<std::string, int64_t>;

/// "batch=64, time=8"; "no named dimensions" when empty.
std::string toString(const Dims &dims);

struct Value {
  std::string name;
  Role role = Role::None;
  ElementType type = ElementType::F32;
  std::vector<Dimension> shape;
};

struct Argument : Value {
  /// A state that starts at zero.
  bool zeroInit = false;
  std::optional<double> defaultValue;
};

struct Result : Value {
  /// The argument that a new state replaces, or -1.
  int64_t argument = -1;
};

struct Function {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Result> results;
};

struct Phase {
  std::string symbol;
  int64_t workgroups = 0;
};

struct Operator {
  std::string name;
  std::string location;
};

struct Kernel {
  std::string name;
  std::string key;
  std::string family;
  std::string schedule;
  std::vector<Operator> operators;
  /// Of one execution.
  double flops = 0;
  double bytes = 0;
  /// Bytes of memory that each concurrent call needs.
  int64_t workspace = 0;
  std::vector<Phase> phases;
};

struct ProgramBuffer {
  enum class Kind : uint8_t {
    Argument,
    Result,
    Arena,
    Constant,
    Slice,
    Alternate
  };
  Kind kind = Kind::Arena;
  /// Of the argument or result. Of a slice, the buffer that it is a part of;
  /// of an alternate, the buffer at even steps.
  int64_t index = 0;
  /// In the arena.
  int64_t offset = 0;
  int64_t bytes = 0;
  /// Of the constant.
  std::string name;
  /// The loop whose step tells where a slice or an alternate is.
  int64_t loop = -1;
  /// The buffer of an alternate at odd steps.
  int64_t odd = -1;
  /// Whether a slice is the last one at the first step.
  bool reverse = false;

  bool moves() const { return kind == Kind::Slice || kind == Kind::Alternate; }
};

/// Launches from `first` to before `last` run `steps` times.
struct Loop {
  int64_t first = 0;
  int64_t last = 0;
  int64_t steps = 0;
};

struct Launch {
  int64_t kernel = 0;
  std::vector<int64_t> buffers;
};

/// A function for fixed sizes of its named dimensions.
struct Program {
  std::string functionName;
  /// Index into the functions of the manifest.
  size_t function = 0;
  Dims dims;
  int64_t arena = 0;
  int64_t maxLive = 0;
  std::vector<ProgramBuffer> buffers;
  std::vector<int64_t> arguments;
  std::vector<int64_t> results;
  std::vector<Launch> launches;
  /// Each is inside of, before or behind every other one; outer loops come
  /// first.
  std::vector<Loop> loops;

  /// The loops around a launch, outermost first.
  std::vector<size_t> loopsAround(int64_t launch) const;
  /// How often a run performs a launch.
  int64_t executions(int64_t launch) const;
};

struct Target {
  std::string name;
  std::string device;
  std::string cpu;
  /// CPU features, spelt as LLVM does.
  std::vector<std::string> features;
  std::string artifact;
  std::vector<Kernel> kernels;
  std::vector<Program> programs;
};

struct Producer {
  std::string name;
  std::string version;
  std::string build;
  std::string llvm;
};

struct Manifest {
  int64_t format = 0;
  Producer producer;
  std::vector<std::string> flags;
  std::string source;
  std::string model;
  Dims dims;
  std::map<std::string, std::string> checksums;
  std::vector<Function> functions;
  std::vector<Target> targets;

  /// The function of that name, or null.
  const Function *findFunction(std::string_view name) const;
};

/// Reads a manifest and checks it, so that every index in the result is in
/// range and every buffer has the size of the value it holds.
Expected<Manifest> parseManifest(std::string_view json);

/// The same checks, for a manifest that was built otherwise.
Status checkManifest(Manifest &manifest);

/// Arena buffers of a program whose bytes overlap while both are live; an
/// error names the first such pair. A launch may read one and write the other
/// in the same place.
Status checkLiveRanges(const Program &program);

/// The shape with every named dimension replaced by its size; nothing when a
/// name has no size.
std::optional<Shape> resolve(const std::vector<Dimension> &shape,
                             const Dims &dims);

/// "f32[batch, 1, 28, 28]".
std::string toString(const Value &value);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_MANIFEST_H
