// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which program of a function runs for given shapes, and the call by name.

#include "neoflow/Runtime/Session.h"

using namespace neoflow;
using namespace neoflow::runtime;

Expected<const Function *>
Session::findFunction(const std::string &name) const {
  const Manifest &manifest = bundle().manifest();
  if (const Function *function = manifest.findFunction(name))
    return function;
  std::string known;
  for (const Function &function : manifest.functions)
    known += (known.empty() ? "" : ", ") + function.name;
  return error("there is no function '", name,
               "'; functions are: ", known.empty() ? "none" : known);
}

std::vector<size_t> Session::programs(const std::string &function) const {
  std::vector<size_t> indices;
  const std::vector<Program> &all = target().programs;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].functionName == function)
      indices.push_back(i);
  return indices;
}

/// Whether a shape fits the fixed extents of a value; the sizes that it gives
/// to named dimensions are added to `dims`.
static bool fits(const Value &value, const Shape &shape, Dims &dims) {
  if (shape.size() != value.shape.size())
    return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dimension &dimension = value.shape[i];
    if (dimension.name.empty()) {
      if (dimension.size != shape[i])
        return false;
    } else if (dims.emplace(dimension.name, shape[i]).first->second !=
               shape[i]) {
      return false;
    }
  }
  return true;
}

Expected<size_t>
Session::findProgram(const std::string &name,
                     const std::vector<std::optional<Shape>> &shapes) const {
  Expected<const Function *> found = findFunction(name);
  if (!found.ok())
    return found.takeError();
  const Function &function = **found;
  Dims dims;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i])
      continue;
    const Argument &argument = function.arguments[i];
    Dims known = dims;
    if (!fits(argument, *shapes[i], dims))
      return error("argument '", argument.name, "' of '", name, "' is ",
                   toString(argument), ", but the array has the shape ",
                   toString(*shapes[i]),
                   known.empty() ? "" : " while " + toString(known));
  }
  std::string present;
  for (size_t index : programs(name)) {
    const Program &program = target().programs[index];
    bool agrees = true;
    for (auto &[dimension, size] : dims) {
      auto it = program.dims.find(dimension);
      agrees = agrees && it != program.dims.end() && it->second == size;
    }
    if (agrees)
      return index;
    present += (present.empty() ? "" : "; ") + toString(program.dims);
  }
  if (present.empty())
    return error("target '", target().name, "' has no program of function '",
                 name, "'");
  return error("function '", name, "' has no specialisation for ",
               toString(dims), "; it has: ", present);
}

Expected<std::vector<Tensor>>
Session::call(const std::string &name, const std::vector<TensorRef> &inputs) {
  Expected<const Function *> found = findFunction(name);
  if (!found.ok())
    return found.takeError();
  const Function &function = **found;
  std::vector<std::optional<Shape>> shapes(function.arguments.size());
  std::vector<const void *> arguments(function.arguments.size(), nullptr);
  size_t next = 0, needed = 0;
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const Argument &argument = function.arguments[i];
    if (isSetBySession(argument.role))
      continue;
    ++needed;
    if (next == inputs.size())
      continue;
    const TensorRef &input = inputs[next++];
    if (input.type != argument.type)
      return error("argument '", argument.name, "' of '", name, "' is ",
                   toString(argument), ", but the array has elements of type ",
                   runtime::name(input.type));
    shapes[i] = input.shape;
    arguments[i] = input.data;
  }
  if (needed != inputs.size())
    return error("function '", name, "' takes ", needed, " inputs, but got ",
                 inputs.size());
  Expected<size_t> index = findProgram(name, shapes);
  if (!index.ok())
    return index.takeError();

  std::vector<Tensor> values;
  std::vector<void *> results;
  for (const Result &result : function.results) {
    auto value = Tensor::allocate(result.type,
                                  shapeOf(result, target().programs[*index]));
    if (!value.ok())
      return value.takeError();
    results.push_back(value->data.data());
    values.push_back(std::move(*value));
  }
  if (Status status = run(*index, arguments.data(), results.data());
      !status.ok())
    return status;
  return values;
}
