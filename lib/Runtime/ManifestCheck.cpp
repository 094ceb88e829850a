// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks of a manifest: every index in range, every buffer as large as the
// value it holds, new states in place, live ranges apart.

#include "neoflow/Runtime/ABI.h"
#include "neoflow/Runtime/Manifest.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace neoflow;
using namespace neoflow::runtime;

std::string runtime::toString(const Dims &dims) {
  if (dims.empty())
    return "no named dimensions";
  std::string text;
  for (auto &[name, size] : dims)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

std::string runtime::toString(const Value &value) {
  std::string text = std::string(name(value.type)) + "[";
  for (size_t i = 0; i < value.shape.size(); ++i) {
    const Dimension &dimension = value.shape[i];
    text += i ? ", " : "";
    text += dimension.name.empty() ? std::to_string(dimension.size)
                                   : dimension.name;
  }
  return text + "]";
}

const Function *Manifest::findFunction(std::string_view name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

std::optional<Shape> runtime::resolve(const std::vector<Dimension> &shape,
                                      const Dims &dims) {
  Shape sizes;
  for (const Dimension &dimension : shape) {
    int64_t size = dimension.size;
    if (!dimension.name.empty()) {
      auto it = dims.find(dimension.name);
      if (it == dims.end())
        return std::nullopt;
      size = it->second;
    }
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<size_t> Program::loopsAround(int64_t launch) const {
  std::vector<size_t> around;
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].first <= launch && launch < loops[i].last)
      around.push_back(i);
  return around;
}

int64_t Program::executions(int64_t launch) const {
  int64_t count = 1;
  for (size_t loop : loopsAround(launch))
    count *= loops[loop].steps;
  return count;
}

static bool isKept(Role role) {
  return role == Role::Param || role == Role::State;
}

static Status checkFunction(const Function &function) {
  auto fail = [&](const auto &...parts) {
    return error("function '", function.name, "': ", parts...);
  };
  std::set<std::string> names;
  for (const Argument &argument : function.arguments) {
    if (argument.role >= Role::Loss)
      return fail("argument '", argument.name, "' has the role ",
                  name(argument.role), " of a result");
    bool needsName = isKept(argument.role) || argument.role == Role::Input ||
                     argument.role == Role::Label;
    if (needsName && argument.name.empty())
      return fail("an argument with role ", name(argument.role),
                  " has no name");
    if (!argument.name.empty() && !names.insert(argument.name).second)
      return fail("two arguments are named '", argument.name, "'");
    bool setByRuntime = argument.role >= Role::Seed;
    if (setByRuntime && !argument.shape.empty())
      return fail("argument '", argument.name, "' with role ",
                  name(argument.role), " is not a scalar");
  }
  for (const Result &result : function.results) {
    if (result.role != Role::NewState) {
      bool scalar = result.shape.empty();
      if ((result.role == Role::Loss || result.role == Role::Metric) && !scalar)
        return fail("result '", result.name, "' with role ", name(result.role),
                    " is not a scalar");
      continue;
    }
    if (result.argument < 0 ||
        result.argument >= static_cast<int64_t>(function.arguments.size()))
      return fail("result '", result.name, "' replaces argument ",
                  result.argument, ", which does not exist");
    const Argument &argument = function.arguments[result.argument];
    if (toString(argument) != toString(result))
      return fail("result '", result.name, "' is ", toString(result),
                  ", but the argument that it replaces is ",
                  toString(argument));
  }
  return Status::success();
}

namespace {
/// Checks one program against its target and function.
struct ProgramCheck {
  const Manifest &manifest;
  const Target &target;
  const Program &program;
  const Function &function;

  template <typename... Parts>
  Status fail(const Parts &...parts) const {
    return error("target '", target.name, "', program of '", function.name,
                 "' (", toString(program.dims), "): ", parts...);
  }

  Status run() const {
    if (Status status = checkLoops(); !status.ok())
      return status;
    if (Status status = checkBuffers(); !status.ok())
      return status;
    if (Status status = checkSignature(); !status.ok())
      return status;
    return checkLaunches();
  }

  /// Bytes of a value of the function.
  Expected<int64_t> valueBytes(const Value &value) const {
    std::optional<Shape> shape = resolve(value.shape, program.dims);
    if (!shape)
      return fail("'", value.name, "' is ", toString(value),
                  ", and one of its dimensions has no size");
    std::optional<int64_t> count = elementCount(*shape);
    if (!count)
      return fail("'", value.name, "' is too large");
    return static_cast<int64_t>(*count * byteSize(value.type));
  }

  Status checkLoops() const {
    for (size_t i = 0; i < program.loops.size(); ++i) {
      const Loop &loop = program.loops[i];
      if (loop.first > loop.last ||
          loop.last > static_cast<int64_t>(program.launches.size()))
        return fail("loop ", i, " over launches ", loop.first, " to ",
                    loop.last, " of ", program.launches.size());
      for (size_t j = 0; j < i; ++j) {
        const Loop &outer = program.loops[j];
        bool apart = loop.first >= outer.last || loop.last <= outer.first;
        bool inside = loop.first >= outer.first && loop.last <= outer.last;
        if (!apart && !inside)
          return fail("loop ", i, " is neither inside of loop ", j,
                      " nor apart from it");
      }
    }
    return Status::success();
  }

  /// A slice or an alternate is made of earlier buffers that move in no loop
  /// but those around its own.
  Status checkMoving(size_t i, const ProgramBuffer &buffer) const {
    if (buffer.loop >= static_cast<int64_t>(program.loops.size()))
      return fail("buffer ", i, " moves in loop ", buffer.loop,
                  ", which does not exist");
    const Loop &loop = program.loops[buffer.loop];
    for (int64_t part : {buffer.index, buffer.odd}) {
      if (part < 0)
        continue;
      if (part >= static_cast<int64_t>(i))
        return fail("buffer ", i, " is made of buffer ", part,
                    ", which does not come before it");
      const ProgramBuffer &whole = program.buffers[part];
      if (whole.moves()) {
        const Loop &outer = program.loops[whole.loop];
        if (outer.first > loop.first || outer.last < loop.last ||
            whole.loop > buffer.loop)
          return fail("buffer ", i, " is made of buffer ", part,
                      ", which moves in a loop that is not around it");
      }
      int64_t count =
          buffer.kind == ProgramBuffer::Kind::Slice ? loop.steps : 1;
      if (buffer.bytes > 0 && count > whole.bytes / buffer.bytes)
        return fail("buffer ", i, " of ", count, " times ", buffer.bytes,
                    " bytes ends outside buffer ", part, " of ", whole.bytes,
                    " bytes");
    }
    return Status::success();
  }

  Status checkBuffers() const {
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const ProgramBuffer &buffer = program.buffers[i];
      switch (buffer.kind) {
      case ProgramBuffer::Kind::Arena:
        if (buffer.offset > program.arena ||
            buffer.bytes > program.arena - buffer.offset)
          return fail("buffer ", i, " ends outside the arena of ",
                      program.arena, " bytes");
        if (buffer.offset % NEOFLOW_ALIGNMENT)
          return fail("buffer ", i, " is not aligned to ", NEOFLOW_ALIGNMENT,
                      " bytes");
        break;
      case ProgramBuffer::Kind::Argument:
        if (Status status = checkValue(i, buffer, function.arguments);
            !status.ok())
          return status;
        break;
      case ProgramBuffer::Kind::Result:
        if (Status status = checkValue(i, buffer, function.results);
            !status.ok())
          return status;
        break;
      case ProgramBuffer::Kind::Constant:
        break;
      case ProgramBuffer::Kind::Slice:
      case ProgramBuffer::Kind::Alternate:
        if (Status status = checkMoving(i, buffer); !status.ok())
          return status;
        break;
      }
    }
    return Status::success();
  }

  template <typename List>
  Status checkValue(size_t i, const ProgramBuffer &buffer,
                    const List &values) const {
    if (buffer.index >= static_cast<int64_t>(values.size()))
      return fail("buffer ", i, " is of value ", buffer.index,
                  ", which does not exist");
    Expected<int64_t> bytes = valueBytes(values[buffer.index]);
    if (!bytes.ok())
      return bytes.takeError();
    if (buffer.bytes != *bytes)
      return fail("buffer ", i, " has ", buffer.bytes, " bytes, but '",
                  values[buffer.index].name, "' takes ", *bytes);
    return Status::success();
  }

  template <typename List>
  Status checkIndices(const char *what, const std::vector<int64_t> &indices,
                      const List &values) const {
    if (indices.size() != values.size())
      return fail("lists ", indices.size(), " ", what,
                  ", but the function has ", values.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= static_cast<int64_t>(program.buffers.size()))
        return fail("buffer ", indices[i], " does not exist");
      Expected<int64_t> bytes = valueBytes(values[i]);
      if (!bytes.ok())
        return bytes.takeError();
      if (program.buffers[indices[i]].bytes != *bytes)
        return fail("buffer ", indices[i], " has ",
                    program.buffers[indices[i]].bytes, " bytes, but '",
                    values[i].name, "' takes ", *bytes);
    }
    return Status::success();
  }

  Status checkSignature() const {
    if (Status status =
            checkIndices("arguments", program.arguments, function.arguments);
        !status.ok())
      return status;
    if (Status status =
            checkIndices("results", program.results, function.results);
        !status.ok())
      return status;
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      const ProgramBuffer &buffer = program.buffers[program.arguments[i]];
      if (buffer.kind != ProgramBuffer::Kind::Argument ||
          buffer.index != static_cast<int64_t>(i))
        return fail("argument ", i, " has a buffer that is not its own");
    }
    for (size_t i = 0; i < program.results.size(); ++i) {
      const Result &result = function.results[i];
      if (result.role == Role::NewState &&
          program.results[i] != program.arguments[result.argument])
        return fail("new state '", result.name,
                    "' does not have the buffer of its argument");
    }
    return Status::success();
  }

  Status checkLaunches() const {
    for (size_t i = 0; i < program.launches.size(); ++i) {
      const Launch &launch = program.launches[i];
      if (launch.kernel >= static_cast<int64_t>(target.kernels.size()))
        return fail("launch ", i, " is of kernel ", launch.kernel,
                    ", which does not exist");
      for (int64_t buffer : launch.buffers) {
        if (buffer >= static_cast<int64_t>(program.buffers.size()))
          return fail("launch ", i, " uses buffer ", buffer,
                      ", which does not exist");
        if (!program.buffers[buffer].moves())
          continue;
        const Loop &loop = program.loops[program.buffers[buffer].loop];
        if (static_cast<int64_t>(i) < loop.first ||
            static_cast<int64_t>(i) >= loop.last)
          return fail("launch ", i, " uses buffer ", buffer,
                      ", which moves in a loop that is not around the launch");
      }
    }
    return Status::success();
  }
};
} // namespace

static Status checkTarget(const Manifest &manifest, Target &target) {
  for (Program &program : target.programs) {
    const Function *function = manifest.findFunction(program.functionName);
    if (!function)
      return error("target '", target.name, "' has a program of function '",
                   program.functionName, "', which does not exist");
    program.function = function - manifest.functions.data();
    if (Status status =
            ProgramCheck{manifest, target, program, *function}.run();
        !status.ok())
      return status;
    for (const Program &other : target.programs) {
      if (&other == &program)
        break;
      if (other.functionName == program.functionName &&
          other.dims == program.dims)
        return error("target '", target.name, "' has two programs of '",
                     program.functionName, "' for ", toString(program.dims));
    }
  }
  return Status::success();
}

Status runtime::checkManifest(Manifest &manifest) {
  std::set<std::string> names;
  for (const Function &function : manifest.functions) {
    Status status =
        names.insert(function.name).second
            ? checkFunction(function)
            : error("two functions are named '", function.name, "'");
    if (!status.ok())
      return Status::error("manifest.json: " + status.message());
  }
  for (Target &target : manifest.targets)
    if (Status status = checkTarget(manifest, target); !status.ok())
      return Status::error("manifest.json: " + status.message());
  return Status::success();
}

namespace {
/// From the first to the last launch that needs a buffer's content.
struct Range {
  size_t buffer = 0;
  int64_t first = -1;
  int64_t last = -1;
};

/// Where the buffers of the arena are used.
class LiveRanges {
public:
  explicit LiveRanges(const Program &program)
      : program(program), uses(program.buffers.size()) {
    for (size_t i = 0; i < program.launches.size(); ++i)
      for (int64_t buffer : program.launches[i].buffers)
        use(buffer, i, program.loopsAround(i));
  }

  /// The loops around every use share `common`; a use in a loop further inside
  /// needs the buffer in all steps of that loop.
  std::optional<Range> get(size_t buffer) const {
    if (uses[buffer].empty())
      return std::nullopt;
    std::vector<size_t> common = uses[buffer].front().loops;
    for (const Use &use : uses[buffer]) {
      size_t equal = 0;
      while (equal < std::min(common.size(), use.loops.size()) &&
             common[equal] == use.loops[equal])
        ++equal;
      common.resize(equal);
    }
    Range range{buffer, INT64_MAX, -1};
    for (const Use &use : uses[buffer]) {
      int64_t first = use.launch, last = use.launch;
      std::vector<size_t> around = program.loopsAround(use.launch);
      if (around.size() > common.size()) {
        // Also before its first launch and behind its last one.
        const Loop &loop = program.loops[around[common.size()]];
        first = loop.first - 1;
        last = loop.last;
      }
      range.first = std::min(range.first, first);
      range.last = std::max(range.last, last);
    }
    return range;
  }

private:
  struct Use {
    int64_t launch;
    /// Those in which the address stays.
    std::vector<size_t> loops;
  };

  void use(int64_t buffer, int64_t launch, std::vector<size_t> loops) {
    const ProgramBuffer &entry = program.buffers[buffer];
    if (!entry.moves()) {
      uses[buffer].push_back({launch, std::move(loops)});
      return;
    }
    auto loop =
        std::find(loops.begin(), loops.end(), static_cast<size_t>(entry.loop));
    loops.erase(loop, loops.end());
    use(entry.index, launch, loops);
    if (entry.odd >= 0)
      use(entry.odd, launch, loops);
  }

  const Program &program;
  std::vector<std::vector<Use>> uses;
};
} // namespace

Status runtime::checkLiveRanges(const Program &program) {
  LiveRanges ranges(program);
  std::vector<Range> arena;
  for (size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].kind == ProgramBuffer::Kind::Arena &&
        program.buffers[i].bytes > 0)
      if (std::optional<Range> range = ranges.get(i))
        arena.push_back(*range);
  std::sort(arena.begin(), arena.end(), [](const Range &a, const Range &b) {
    return std::tie(a.first, a.buffer) < std::tie(b.first, b.buffer);
  });
  for (size_t i = 0; i < arena.size(); ++i)
    for (size_t j = i + 1; j < arena.size() && arena[j].first < arena[i].last;
         ++j) {
      const ProgramBuffer &a = program.buffers[arena[i].buffer];
      const ProgramBuffer &b = program.buffers[arena[j].buffer];
      if (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
        return error("buffers ", arena[i].buffer, " and ", arena[j].buffer,
                     " overlap in the arena and are both in use at launch ",
                     std::max<int64_t>(arena[j].first, 0));
    }
  return Status::success();
}
