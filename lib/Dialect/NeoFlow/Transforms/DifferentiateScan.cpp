// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse mode of scans: the reversed scan over saved carries.

#include "DifferentiateScan.h"
#include "ReadGradient.h"
#include "Scans.h"

#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::autodiff;

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// The type in which gradients of `type` are summed over the steps.
static RankedTensorType getWide(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(getComputeType(tensor.getElementType()));
}

func::FuncOp ScanDifferentiator::getSaving(func::FuncOp callee,
                                           unsigned numCarries) {
  func::FuncOp &function = saving[{callee, numCarries}];
  if (function)
    return function;
  function =
      createFunction(symbols, callee.getLoc(), callee.getName() + "_saving",
                     callee.getArgumentTypes(), getArgumentLocations(callee));
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  auto call = func::CallOp::create(builder, callee.getLoc(), callee,
                                   ValueRange(function.getArguments()));
  SmallVector<Value> results(call.getResults());
  llvm::append_range(results, function.getArguments().take_front(numCarries));
  finishFunction(function, results);
  return function;
}

void ScanDifferentiator::saveCarries(ScanOp scan) {
  for (ScanOp part : splitAtCheckpoints(scan, symbols)) {
    OpBuilder builder(part);
    auto callee = symbols.lookup<func::FuncOp>(part.getCallee());
    SmallVector<Type> types(part.getResultTypes());
    for (Type type : part.getCarries().getTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      types.push_back(
          ScanOp::getStackType(tensor, tensor.getRank() + 1, part.getSteps()));
    }
    auto saved = ScanOp::create(
        builder, part.getLoc(), types,
        FlatSymbolRefAttr::get(getSaving(callee, part.getNumCarries())),
        builder.getI64IntegerAttr(part.getSteps()), part.getReverseAttr(),
        IntegerAttr(), part.getCarries(), part.getStacked(),
        part.getInvariants());
    calleeOf[saved] = callee;
    part.replaceAllUsesWith(
        saved.getResults().take_front(part.getNumResults()));
    part.erase();
  }
}

/// The step takes the cotangents of the new carries and the sums of the
/// gradients of invariants so far; slices: the carries before the step, the
/// slices of the step, the cotangents of its outputs; and the invariants. It
/// returns the cotangents of the old carries, the new sums, and the gradients
/// of the slices.
FailureOr<func::FuncOp>
ScanDifferentiator::createReversedStep(ScanOp scan, func::FuncOp callee,
                                       ArrayRef<int64_t> wrt,
                                       ArrayRef<int64_t> seeded) {
  FailureOr<func::FuncOp> vjp = getVjp(callee, wrt, seeded);
  if (failed(vjp)) {
    scan.emitRemark("called here");
    return failure();
  }
  unsigned numCarries = scan.getNumCarries(),
           numSlices = scan.getStacked().size();
  ArrayRef<Type> inputs = callee.getArgumentTypes(),
                 results = callee.getResultTypes();
  SmallVector<Type> types;
  SmallVector<Location> locations;
  auto add = [&](Type type, Location at) {
    types.push_back(type);
    locations.push_back(at);
  };
  auto addGradient = [&](Type type, Value value) {
    add(type, gradientLoc(value, value.getLoc()));
  };
  ArrayRef<BlockArgument> arguments = callee.getArguments();
  OperandRange returned = callee.front().getTerminator()->getOperands();
  for (unsigned i = 0; i < numCarries; ++i)
    if (isFloat(inputs[i]))
      addGradient(inputs[i], arguments[i]);
  for (int64_t position : wrt)
    if (position >= numCarries + numSlices)
      addGradient(getWide(inputs[position]), arguments[position]);
  unsigned numSums = types.size();
  for (unsigned i = 0; i < numCarries + numSlices; ++i)
    add(inputs[i], arguments[i].getLoc());
  for (int64_t position : seeded)
    if (position >= numCarries)
      addGradient(results[position], returned[position]);
  for (unsigned i = numCarries + numSlices; i < inputs.size(); ++i)
    add(inputs[i], arguments[i].getLoc());

  Location loc = gradientLoc(scan);
  func::FuncOp step = createFunction(
      symbols, loc, callee.getName() + "_reversed", types, locations);
  OpBuilder builder = OpBuilder::atBlockEnd(&step.front());
  auto argument = step.getArguments().begin();
  SmallVector<Value> cotangents(results.size());
  for (unsigned i = 0; i < numCarries; ++i)
    if (isFloat(results[i]))
      cotangents[i] = *argument++;
  SmallVector<Value> sums(argument, step.getArguments().begin() + numSums);
  argument = step.getArguments().begin() + numSums;
  SmallVector<Value> operands(argument, argument + numCarries + numSlices);
  argument += numCarries + numSlices;
  for (int64_t position : seeded)
    if (position >= numCarries)
      cotangents[position] = *argument++;
  operands.append(argument, step.getArguments().end());
  for (auto [type, cotangent] : llvm::zip(results, cotangents))
    if (isFloat(type))
      operands.push_back(
          cotangent ? cotangent
                    : createZeros(builder, loc, cast<RankedTensorType>(type)));
  auto call = func::CallOp::create(builder, loc, *vjp, operands);

  SmallVector<Value> carried, added, slices;
  auto sum = sums.begin();
  for (auto [position, gradient] :
       llvm::zip(wrt, call.getResults().drop_front(results.size()))) {
    if (position < numCarries)
      carried.push_back(gradient);
    else if (position < numCarries + numSlices)
      slices.push_back(gradient);
    else
      added.push_back(
          createSum(builder, loc,
                    {*sum++, createConversion(builder, loc, gradient,
                                              getWide(gradient.getType()))}));
  }
  llvm::append_range(carried, added);
  llvm::append_range(carried, slices);
  finishFunction(step, carried);
  return step;
}

FailureOr<SmallVector<Term>>
ScanDifferentiator::differentiate(OpBuilder &builder, ScanOp scan,
                                  ArrayRef<Value> cotangents,
                                  function_ref<bool(Value)> isActive) {
  func::FuncOp callee = calleeOf.lookup(scan);
  unsigned numCarries = scan.getNumCarries();
  unsigned numResults = callee.getNumResults();
  // A carry passes on what reaches a later one.
  SmallVector<int64_t> wrt, seeded;
  for (auto [i, operand] : llvm::enumerate(scan.getOperands()))
    if (i < numCarries ? isFloat(operand.getType()) : isActive(operand))
      wrt.push_back(i);
  for (unsigned i = 0; i < numResults; ++i)
    if (i < numCarries ? isFloat(callee.getResultTypes()[i])
                       : bool(cotangents[i]))
      seeded.push_back(i);
  FailureOr<func::FuncOp> step = createReversedStep(scan, callee, wrt, seeded);
  if (failed(step))
    return failure();

  Location loc = gradientLoc(scan);
  SmallVector<Value> carries, stacked;
  SmallVector<Type> types;
  /// What each result of the reversed scan is the gradient of.
  SmallVector<Value> targets;
  for (unsigned i = 0; i < numCarries; ++i) {
    Value carry = scan.getCarries()[i];
    if (!isFloat(carry.getType()))
      continue;
    carries.push_back(
        cotangents[i] ? cotangents[i]
                      : createZeros(builder, loc,
                                    cast<RankedTensorType>(carry.getType())));
    targets.push_back(carry);
  }
  for (Value invariant : scan.getInvariants())
    if (isActive(invariant)) {
      carries.push_back(createZeros(builder, gradientLoc(invariant, loc),
                                    getWide(invariant.getType())));
      targets.push_back(invariant);
    }
  llvm::append_range(types, TypeRange(ValueRange(carries)));
  llvm::append_range(stacked, scan.getResults().drop_front(numResults));
  for (Value stack : scan.getStacked()) {
    stacked.push_back(stack);
    if (!isActive(stack))
      continue;
    types.push_back(stack.getType());
    targets.push_back(stack);
  }
  for (unsigned i = numCarries; i < numResults; ++i)
    if (cotangents[i])
      stacked.push_back(cotangents[i]);
  auto reversed =
      ScanOp::create(builder, loc, types, FlatSymbolRefAttr::get(*step),
                     builder.getI64IntegerAttr(scan.getSteps()),
                     scan.getReverse() ? UnitAttr() : builder.getUnitAttr(),
                     IntegerAttr(), carries, stacked, scan.getInvariants());
  SmallVector<Term> terms;
  for (auto [target, gradient] : llvm::zip(targets, reversed.getResults()))
    if (isActive(target))
      terms.push_back(
          {target, createConversion(builder, loc, gradient,
                                    cast<RankedTensorType>(target.getType()))});
  return terms;
}
