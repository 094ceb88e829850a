// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neoflow.scan: slices and stacks, and verification.

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "llvm/ADT/SetVector.h"

using namespace neoflow;

RankedTensorType ScanOp::getSliceType(RankedTensorType stack, int64_t rank,
                                      int64_t steps) {
  if (stack.getRank() == 0)
    return {};
  int64_t length = stack.getDimSize(0);
  bool isKnown =
      !ShapedType::isDynamic(length) && !ShapedType::isDynamic(steps);
  SmallVector<int64_t> shape(stack.getShape().drop_front());
  if (rank == stack.getRank()) {
    // Without steps any length would do.
    if (isKnown && (steps == 0 || length % steps != 0))
      return {};
    shape.insert(shape.begin(),
                 isKnown ? length / steps : ShapedType::kDynamic);
  } else if (rank != stack.getRank() - 1 || (isKnown && length != steps)) {
    return {};
  }
  return stack.clone(shape);
}

RankedTensorType ScanOp::getStackType(RankedTensorType slice, int64_t rank,
                                      int64_t steps) {
  SmallVector<int64_t> shape(slice.getShape());
  if (rank == slice.getRank() + 1)
    shape.insert(shape.begin(), steps);
  else if (rank != slice.getRank() || rank == 0)
    return {};
  else if (ShapedType::isDynamic(steps) || slice.isDynamicDim(0))
    shape[0] = ShapedType::kDynamic;
  else
    shape[0] *= steps;
  return slice.clone(shape);
}

int64_t ScanOp::getSteps() {
  if (std::optional<uint64_t> steps = getGivenSteps())
    return *steps;
  return cast<RankedTensorType>(getStacked().front().getType()).getDimSize(0);
}

/// Whether `function` or one that it comes to has `wanted` as callee.
static bool comesTo(Operation *function, Operation *wanted,
                    SymbolTableCollection &symbols) {
  llvm::SetVector<Operation *> reached;
  reached.insert(function);
  for (unsigned i = 0; i < reached.size() && !reached.contains(wanted); ++i)
    reached[i]->walk([&](Operation *op) {
      if (auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee"))
        if (Operation *next = symbols.lookupNearestSymbolFrom(op, callee))
          reached.insert(next);
    });
  return reached.contains(wanted);
}

LogicalResult ScanOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // scan_c1
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!callee)
    return emitOpError("expected a function, but '")
           << getCallee() << "' is none";
  auto fail = [&](const auto &...parts) -> LogicalResult {
    InFlightDiagnostic diagnostic = emitOpError();
    (diagnostic << ... << parts);
    diagnostic.attachNote(callee.getLoc()) << "the function is defined here";
    return diagnostic;
  };
  // scan_c2
  if (std::optional<uint64_t> steps = getGivenSteps();
      steps ? static_cast<int64_t>(*steps) < 0
            : getStacked().empty() ||
                  cast<RankedTensorType>(getStacked().front().getType())
                          .getRank() == 0)
    return emitOpError("expected 'steps' of at least 0, or a stacked operand "
                       "whose leading extent counts the steps");
  if (std::optional<uint64_t> every = getCheckpoint();
      every && static_cast<int64_t>(*every) < 1)
    return emitOpError("expected 'checkpoint' of at least 1, but got ")
           << static_cast<int64_t>(*every);
  // scan_c3
  auto type = cast<FunctionType>(callee.getFunctionType());
  unsigned numCarries = getNumCarries();
  if (type.getNumInputs() != getNumOperands() ||
      type.getNumResults() < numCarries ||
      type.getNumResults() != getNumResults())
    return fail("expected '", getCallee(), "' to take ", numCarries,
                " carries, ", getStacked().size(), " slices and ",
                getInvariants().size(), " invariants, and to return ",
                numCarries, " carries and ",
                getNumResults() < numCarries ? 0 : getNumResults() - numCarries,
                " outputs, but it is ", type);
  if (getNumResults() == 0)
    return emitOpError("expected a carry or an output");
  // scan_c4
  for (unsigned i = 0; i < numCarries; ++i)
    for (Type other :
         {type.getInput(i), type.getResult(i), getResult(i).getType()})
      if (other != getCarries()[i].getType())
        return fail("carry ", i, " is ", getCarries()[i].getType(),
                    " at first, but ", other, " later");
  // scan_c5
  for (auto [i, operand] : llvm::enumerate(getStacked())) {
    auto stack = cast<RankedTensorType>(operand.getType());
    Type input = type.getInput(numCarries + i);
    auto slice = dyn_cast<RankedTensorType>(input);
    if (!slice || getSliceType(stack, slice.getRank(), getSteps()) != slice)
      return fail("stacked operand ", i, " is ", stack, ", which has no slice ",
                  input, " for each of ", getSteps(), " steps");
  }
  // scan_c6
  for (auto [i, operand] : llvm::enumerate(getInvariants())) {
    Type input = type.getInput(numCarries + getStacked().size() + i);
    if (input != operand.getType())
      return fail("invariant ", i, " is ", operand.getType(), ", but '",
                  getCallee(), "' takes ", input);
  }
  // scan_c7
  for (auto [i, result] : llvm::enumerate(getOutputs())) {
    auto stack = cast<RankedTensorType>(result.getType());
    Type output = type.getResult(numCarries + i);
    auto slice = dyn_cast<RankedTensorType>(output);
    if (!slice || getStackType(slice, stack.getRank(), getSteps()) != stack)
      return fail("output ", i, " is ", stack, ", which is no stack of ",
                  getSteps(), " times ", output);
  }
  // scan_c8
  if (comesTo(callee, (*this)->getParentOfType<FunctionOpInterface>(), symbols))
    return fail("'", getCallee(),
                "' comes to this scan again, which would "
                "never end");
  return success();
}
