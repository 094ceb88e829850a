// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices and stacks as computes, and scans of scans.

#include "Scans.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace neoflow;

/// A compute over the elements of `type`, whose value `emit` gives.
static Value createElementwise(OpBuilder &builder, Location loc,
                               RankedTensorType type, ValueRange inputs,
                               function_ref<Value(ComputeOp)> emit) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < type.getRank(); ++i)
    names.push_back("i" + std::to_string(i));
  auto compute =
      ComputeOp::create(builder, loc, type, inputs, ReductionKind::none,
                        ArrayRef<int64_t>(), names);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(compute.getBodyBlock());
  YieldOp::create(builder, loc, emit(compute));
  return compute.getResult(0);
}

/// Subscripts that are the indices, the leading one moved by `offset`.
static AffineMap getShiftedRows(Builder &builder, int64_t rank,
                                int64_t offset) {
  SmallVector<AffineExpr> subscripts;
  for (int64_t i = 0; i < rank; ++i)
    subscripts.push_back(builder.getAffineDimExpr(i));
  subscripts[0] = subscripts[0] + offset;
  return AffineMap::get(rank, 0, subscripts, builder.getContext());
}

Value neoflow::createSlice(OpBuilder &builder, Location loc, Value stack,
                           RankedTensorType type, int64_t row) {
  int64_t rank = cast<RankedTensorType>(stack.getType()).getRank();
  return createElementwise(builder, loc, type, stack, [&](ComputeOp compute) {
    AffineMap map;
    if (type.getRank() == rank) {
      map = getShiftedRows(builder, rank, row);
    } else {
      SmallVector<AffineExpr> subscripts = {builder.getAffineConstantExpr(row)};
      for (int64_t i = 0; i < type.getRank(); ++i)
        subscripts.push_back(builder.getAffineDimExpr(i));
      map = AffineMap::get(type.getRank(), 0, subscripts, builder.getContext());
    }
    return ReadOp::create(builder, loc, compute.getInputArguments()[0], map,
                          ValueRange(compute.getIndexArguments()));
  });
}

/// `slice` with a leading dimension of one.
static Value createRow(OpBuilder &builder, Location loc, Value slice) {
  auto type = cast<RankedTensorType>(slice.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), 1);
  return createElementwise(
      builder, loc, type.clone(shape), slice, [&](ComputeOp compute) {
        return ReadOp::create(
            builder, loc, compute.getInputArguments()[0],
            builder.getMultiDimIdentityMap(type.getRank()),
            ValueRange(compute.getIndexArguments().drop_front()));
      });
}

/// The rows of `a`, then those of `b`.
static Value createConcatenation(OpBuilder &builder, Location loc, Value a,
                                 Value b) {
  auto type = cast<RankedTensorType>(a.getType());
  int64_t rank = type.getRank(), length = type.getDimSize(0);
  SmallVector<int64_t> shape(type.getShape());
  shape[0] += cast<RankedTensorType>(b.getType()).getDimSize(0);
  auto otherwise = cast<TypedAttr>(
      builder.getZeroAttr(getComputeType(type.getElementType())));
  return createElementwise(
      builder, loc, type.clone(shape), {a, b}, [&](ComputeOp compute) {
        ValueRange indices(compute.getIndexArguments());
        Value before = ReadOp::create(
            builder, loc, compute.getInputArguments()[0],
            builder.getMultiDimIdentityMap(rank), indices, otherwise);
        Value behind = ReadOp::create(
            builder, loc, compute.getInputArguments()[1],
            getShiftedRows(builder, rank, -length), indices, otherwise);
        Value isBefore = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, indices[0],
            arith::ConstantIndexOp::create(builder, loc, length));
        return arith::SelectOp::create(builder, loc, isBefore, before, behind);
      });
}

Value neoflow::createStack(OpBuilder &builder, Location loc,
                           ArrayRef<Value> slices, RankedTensorType type) {
  if (slices.empty())
    return createElementwise(builder, loc, type, {}, [&](ComputeOp) {
      Type element = getComputeType(type.getElementType());
      return arith::ConstantOp::create(
          builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
    });
  SmallVector<Value> parts(slices);
  if (cast<RankedTensorType>(slices.front().getType()).getRank() !=
      type.getRank())
    for (Value &part : parts)
      part = createRow(builder, loc, part);
  // In pairs, so that no element is copied more often than there are levels.
  while (parts.size() > 1) {
    SmallVector<Value> joined;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      joined.push_back(
          createConcatenation(builder, loc, parts[i], parts[i + 1]));
    if (parts.size() % 2)
      joined.push_back(parts.back());
    parts = std::move(joined);
  }
  return parts.front();
}

SmallVector<Type> neoflow::getStepTypes(ScanOp scan) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      scan, scan.getCalleeAttr());
  return llvm::to_vector(callee.getArgumentTypes());
}

func::FuncOp neoflow::createFunction(SymbolTable &symbols, Location loc,
                                     const Twine &name, TypeRange arguments,
                                     ArrayRef<Location> locations) {
  OpBuilder builder(symbols.getOp()->getContext());
  auto function = func::FuncOp::create(loc, name.str(),
                                       builder.getFunctionType(arguments, {}));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  for (auto [argument, at] : llvm::zip(body->getArguments(), locations))
    argument.setLoc(at);
  symbols.insert(function);
  return function;
}

SmallVector<Location> neoflow::getArgumentLocations(func::FuncOp function) {
  SmallVector<Location> locations;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    locations.push_back(function.isExternal()
                            ? function.getLoc()
                            : function.getArgument(i).getLoc());
  return locations;
}

void neoflow::finishFunction(func::FuncOp function, ValueRange results) {
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), TypeRange(results)));
}

/// A function that runs `steps` steps of `scan` on stacks of that many slices.
static func::FuncOp createChunk(ScanOp scan, int64_t steps,
                                SymbolTable &symbols) {
  unsigned numCarries = scan.getNumCarries();
  SmallVector<Type> types(scan.getOperandTypes());
  SmallVector<Type> results(scan.getResultTypes());
  auto shorten = [&](Type &type) {
    auto stack = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(stack.getShape());
    shape[0] = shape[0] / scan.getSteps() * steps;
    type = stack.clone(shape);
  };
  for (unsigned i = 0; i < scan.getStacked().size(); ++i)
    shorten(types[numCarries + i]);
  for (unsigned i = numCarries; i < results.size(); ++i)
    shorten(results[i]);
  auto callee = symbols.lookup<func::FuncOp>(scan.getCallee());
  func::FuncOp chunk = createFunction(
      symbols, scan.getLoc(), scan.getCallee() + "_" + Twine(steps) + "_steps",
      types, getArgumentLocations(callee));
  OpBuilder builder = OpBuilder::atBlockEnd(&chunk.front());
  ValueRange arguments(chunk.getArguments());
  unsigned numStacked = scan.getStacked().size();
  auto inner = ScanOp::create(
      builder, scan.getLoc(), results, scan.getCalleeAttr(),
      builder.getI64IntegerAttr(steps), scan.getReverseAttr(), IntegerAttr(),
      arguments.take_front(numCarries), arguments.slice(numCarries, numStacked),
      arguments.drop_front(numCarries + numStacked));
  finishFunction(chunk, inner.getResults());
  return chunk;
}

SmallVector<ScanOp> neoflow::splitAtCheckpoints(ScanOp scan,
                                                SymbolTable &symbols) {
  std::optional<uint64_t> every = scan.getCheckpoint();
  int64_t steps = scan.getSteps();
  if (!every || *every == 1 || static_cast<int64_t>(*every) >= steps) {
    scan.removeCheckpointAttr();
    return {scan};
  }
  OpBuilder builder(scan);
  Location loc = scan.getLoc();
  int64_t length = *every, rest = steps % length, whole = steps - rest;
  SmallVector<ScanOp> parts;
  SmallVector<Value> carries(scan.getCarries());
  /// Outputs of the parts in the order of time.
  SmallVector<SmallVector<Value>> outputs(scan.getOutputs().size());
  auto run = [&](FlatSymbolRefAttr callee, int64_t numCalls, int64_t first,
                 int64_t count) {
    auto take = [&](RankedTensorType type) {
      SmallVector<int64_t> shape(type.getShape());
      shape[0] = shape[0] / steps * count;
      return type.clone(shape);
    };
    SmallVector<Value> stacked(scan.getStacked());
    if (count != steps)
      for (Value &stack : stacked) {
        auto type = cast<RankedTensorType>(stack.getType());
        stack = createSlice(builder, loc, stack, take(type),
                            type.getDimSize(0) / steps * first);
      }
    SmallVector<Type> types(scan.getCarries().getTypes());
    for (Value output : scan.getOutputs())
      types.push_back(take(cast<RankedTensorType>(output.getType())));
    auto part = ScanOp::create(builder, loc, types, callee,
                               builder.getI64IntegerAttr(numCalls),
                               scan.getReverseAttr(), IntegerAttr(), carries,
                               stacked, scan.getInvariants());
    carries.assign(part.getLastCarries().begin(), part.getLastCarries().end());
    for (auto [list, output] : llvm::zip(outputs, part.getOutputs()))
      list.insert(scan.getReverse() ? list.begin() : list.end(), output);
    parts.push_back(part);
  };
  func::FuncOp chunk = createChunk(scan, length, symbols);
  run(FlatSymbolRefAttr::get(chunk), whole / length,
      scan.getReverse() ? rest : 0, whole);
  if (rest)
    run(scan.getCalleeAttr(), rest, scan.getReverse() ? 0 : whole, rest);
  scan.getLastCarries().replaceAllUsesWith(ValueRange(carries));
  for (auto [result, list] : llvm::zip(scan.getOutputs(), outputs))
    result.replaceAllUsesWith(createStack(
        builder, loc, list, cast<RankedTensorType>(result.getType())));
  scan.erase();
  return parts;
}
