// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives named dimensions their sizes and propagates the static shapes forward
// through functions, calls and computes.

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace neoflow {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

namespace {

/// `type` with the static dimensions of `with` where it is dynamic; null when
/// the two disagree. Types other than ranked tensors must be equal.
Type refine(Type type, Type with) {
  if (type == with)
    return type;
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto other = dyn_cast<RankedTensorType>(with);
  if (!tensor || !other || tensor.getRank() != other.getRank() ||
      tensor.getElementType() != other.getElementType())
    return {};
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, known] : llvm::zip(shape, other.getShape())) {
    if (ShapedType::isDynamic(known))
      continue;
    if (!ShapedType::isDynamic(size) && size != known)
      return {};
    size = known;
  }
  return RankedTensorType::get(shape, tensor.getElementType(),
                               tensor.getEncoding());
}

bool isDynamic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

/// Refines the functions of a module until nothing changes. Shapes only ever
/// become more static, so that every function is visited again at most once for
/// each dimension of its arguments and of the results of its callees.
class Specializer {
public:
  /// `given` are the names whose size the option gave.
  Specializer(ModuleOp module, const llvm::StringMap<int64_t> &sizes,
              const llvm::StringSet<> &given)
      : module(module), sizes(sizes), given(given), symbols(module) {}

  LogicalResult run();

private:
  LogicalResult nameDimensions(func::FuncOp function);
  LogicalResult visit(func::FuncOp function);
  LogicalResult visit(Operation *op);
  LogicalResult visit(ComputeOp op);
  LogicalResult visit(ScanOp op);
  LogicalResult visitGradientRule(func::FuncOp function);
  LogicalResult checkStatic(func::FuncOp function);

  /// Refines the arguments of `callee` by the types at a call.
  LogicalResult pass(Operation *call, func::FuncOp callee, TypeRange types);
  /// Refines the type of `result`, which `op` defines.
  LogicalResult refineResult(Operation *op, Value result, Type type);
  func::FuncOp lookup(StringAttr name) {
    return symbols.lookup<func::FuncOp>(name);
  }

  ModuleOp module;
  const llvm::StringMap<int64_t> &sizes;
  const llvm::StringSet<> &given;
  SymbolTable symbols;
  llvm::SetVector<Operation *> worklist;
  DenseMap<Operation *, SmallVector<func::FuncOp>> callers;
};

LogicalResult Specializer::run() {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (failed(nameDimensions(function)))
      return failure();
    function.walk([&](Operation *op) {
      auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee");
      if (auto target = callee ? lookup(callee.getAttr()) : func::FuncOp())
        callers[target].push_back(function);
    });
    worklist.insert(function);
  }
  while (!worklist.empty())
    if (failed(visit(cast<func::FuncOp>(worklist.pop_back_val()))))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(checkStatic(function)))
      return failure();
  return success();
}

LogicalResult Specializer::nameDimensions(func::FuncOp function) {
  SmallVector<Type> inputs(function.getArgumentTypes());
  for (auto [position, type] : llvm::enumerate(inputs)) {
    auto names = function.getArgAttrOfType<ArrayAttr>(position, attr::kDims);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!names || !tensor)
      continue;
    Location loc = function.isExternal()
                       ? function.getLoc()
                       : function.getArgument(position).getLoc();
    SmallVector<int64_t> shape(tensor.getShape());
    for (auto [dim, name] :
         llvm::enumerate(names.getAsValueRange<StringAttr>())) {
      auto size = sizes.find(name);
      if (!ShapedType::isDynamic(shape[dim])) {
        if (given.contains(name) && size->second != shape[dim])
          return emitError(loc)
                 << "dimension '" << name << "' is " << shape[dim]
                 << " already, but 'sizes' says " << size->second;
        continue;
      }
      if (size == sizes.end())
        return emitError(loc)
               << "dimension '" << name << "' (dimension " << dim
               << " of argument " << position << " of '" << function.getName()
               << "') has no size; give one with 'sizes=" << name
               << "=N' or in the module's '" << attr::kDefaultDims << "'";
      shape[dim] = size->second;
    }
    type = RankedTensorType::get(shape, tensor.getElementType(),
                                 tensor.getEncoding());
    if (!function.isExternal())
      function.getArgument(position).setType(type);
  }
  function.setFunctionType(FunctionType::get(module.getContext(), inputs,
                                             function.getResultTypes()));
  return success();
}

LogicalResult Specializer::visit(func::FuncOp function) {
  if (failed(visitGradientRule(function)))
    return failure();
  if (function.isExternal())
    return success();
  // Collected first: visiting replaces operations. Definitions come before
  // uses, since functions of the language have one block.
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    return isa<ComputeOp, ScatterOp>(op) ? WalkResult::skip()
                                         : WalkResult::advance();
  });
  for (Operation *op : ops)
    if (op != function && failed(visit(op)))
      return failure();
  return success();
}

LogicalResult Specializer::refineResult(Operation *op, Value result,
                                        Type type) {
  Type refined = refine(result.getType(), type);
  if (!refined)
    return op->emitOpError("expected a result that fits ")
           << type << ", but got " << result.getType();
  result.setType(refined);
  return success();
}

LogicalResult Specializer::pass(Operation *call, func::FuncOp callee,
                                TypeRange types) {
  SmallVector<Type> inputs(callee.getArgumentTypes());
  if (inputs.size() != types.size())
    return success(); // The verifier reports it.
  for (auto [position, input] : llvm::enumerate(inputs)) {
    Type refined = refine(input, types[position]);
    if (!refined) {
      InFlightDiagnostic diagnostic =
          call->emitError("argument ")
          << position << " of '" << callee.getName() << "' is "
          << types[position] << " here, but " << input
          << " by its own dimensions or by another call";
      diagnostic.attachNote(callee.getLoc()) << "the function is defined here";
      return diagnostic;
    }
    if (refined == input)
      continue;
    input = refined;
    if (!callee.isExternal())
      callee.getArgument(position).setType(refined);
    worklist.insert(callee);
  }
  callee.setFunctionType(
      FunctionType::get(module.getContext(), inputs, callee.getResultTypes()));
  return success();
}

LogicalResult Specializer::visitGradientRule(func::FuncOp function) {
  auto name = function->getAttrOfType<FlatSymbolRefAttr>(attr::kGradient);
  auto rule = name ? lookup(name.getAttr()) : func::FuncOp();
  if (!rule)
    return success();
  // Primals, primal results, cotangents of the floating-point results.
  SmallVector<Type> types(function.getArgumentTypes());
  llvm::append_range(types, function.getResultTypes());
  for (Type type : function.getResultTypes())
    if (isa<FloatType>(getElementTypeOrSelf(type)))
      types.push_back(type);
  return pass(function, rule, types);
}

/// The value of `extent` when it is constant.
std::optional<int64_t> getConstant(Value extent) {
  llvm::APInt value;
  if (matchPattern(extent, m_ConstantInt(&value)))
    return value.getSExtValue();
  return std::nullopt;
}

LogicalResult Specializer::visit(ComputeOp op) {
  for (auto [argument, input] :
       llvm::zip(op.getInputArguments(), op.getInputs()))
    Value(argument).setType(input.getType());
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(op.getResult(0).getType()).getShape());
  SmallVector<int64_t> reduction(op.getReductionExtents());
  SmallVector<Value> extents;
  unsigned next = 0;
  auto settle = [&](unsigned position, int64_t &size) -> LogicalResult {
    if (!ShapedType::isDynamic(size))
      return success();
    Value operand = op.getExtents()[next++];
    std::optional<int64_t> constant = getConstant(operand);
    if (!constant) {
      extents.push_back(operand);
      return success();
    }
    if (*constant < 0)
      return op.emitOpError("the extent of index '")
             << op.getIndexName(position) << "' is " << *constant
             << ", which is negative";
    size = *constant;
    return success();
  };
  for (auto [i, size] : llvm::enumerate(shape))
    if (failed(settle(i, size)))
      return failure();
  for (auto [i, size] : llvm::enumerate(reduction))
    if (failed(settle(shape.size() + i, size)))
      return failure();
  if (extents.size() == op.getExtents().size())
    return success();
  op.getExtentsMutable().assign(extents);
  op.setReductionExtents(reduction);
  for (Value result : op.getResults()) {
    auto tensor = cast<RankedTensorType>(result.getType());
    result.setType(RankedTensorType::get(shape, tensor.getElementType(),
                                         tensor.getEncoding()));
  }
  for (auto [init, result] : llvm::zip(op.getInits(), op.getResults()))
    if (!refine(init.getType(), result.getType()))
      return op.emitOpError("expected an 'init' tensor of the shape of ")
             << result.getType() << ", but got " << init.getType();
  return success();
}

LogicalResult Specializer::visit(ScanOp op) {
  func::FuncOp callee = lookup(op.getCalleeAttr().getAttr());
  if (!callee)
    return success(); // The verifier reports it.
  int64_t steps = op.getSteps();
  unsigned numCarries = op.getNumCarries();
  SmallVector<Type> types(op.getOperandTypes());
  for (unsigned i = 0; i < op.getStacked().size(); ++i) {
    Type &type = types[numCarries + i];
    auto slice =
        dyn_cast<RankedTensorType>(callee.getArgumentTypes()[numCarries + i]);
    type = slice ? ScanOp::getSliceType(cast<RankedTensorType>(type),
                                        slice.getRank(), steps)
                 : Type();
    if (!type)
      return success(); // The verifier reports it.
  }
  if (failed(pass(op, callee, types)))
    return failure();
  for (auto [result, type] :
       llvm::zip(op.getResults(), callee.getResultTypes()))
    if (result.getResultNumber() < numCarries) {
      if (failed(refineResult(op, result, type)))
        return failure();
    } else if (auto stack = ScanOp::getStackType(
                   cast<RankedTensorType>(type),
                   cast<RankedTensorType>(result.getType()).getRank(), steps);
               !stack || failed(refineResult(op, result, stack))) {
      return failure();
    }
  return success();
}

LogicalResult Specializer::visit(Operation *op) {
  if (auto scan = dyn_cast<ScanOp>(op))
    return visit(scan);
  if (auto compute = dyn_cast<ComputeOp>(op))
    return visit(compute);
  if (auto scatter = dyn_cast<ScatterOp>(op)) {
    for (auto [argument, input] :
         llvm::zip(scatter.getInputArguments(), scatter.getInputs()))
      Value(argument).setType(input.getType());
    return success();
  }
  if (auto stop = dyn_cast<StopGradientOp>(op))
    return refineResult(op, stop.getResult(), stop.getInput().getType());
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (refine(cast.getType(), cast.getSource().getType()) ==
        cast.getSource().getType()) {
      cast.replaceAllUsesWith(cast.getSource());
      cast.erase();
    }
    return success();
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    func::FuncOp callee = lookup(call.getCalleeAttr().getAttr());
    if (!callee)
      return success(); // The verifier reports it.
    if (failed(pass(op, callee, call.getOperandTypes())))
      return failure();
    for (auto [result, type] :
         llvm::zip(call.getResults(), callee.getResultTypes()))
      if (failed(refineResult(op, result, type)))
        return failure();
    return success();
  }
  if (auto vjp = dyn_cast<VjpOp>(op)) {
    func::FuncOp callee = lookup(vjp.getCalleeAttr().getAttr());
    if (!callee)
      return success();
    if (failed(pass(op, callee, vjp.getArguments().getTypes())))
      return failure();
    SmallVector<Type> types(callee.getResultTypes());
    for (int64_t position : vjp.getWrt())
      types.push_back(callee.getArgumentTypes()[position]);
    for (auto [result, type] : llvm::zip(vjp.getResults(), types))
      if (failed(refineResult(op, result, type)))
        return failure();
    return success();
  }
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    auto function = ret->getParentOfType<func::FuncOp>();
    if (TypeRange(ret.getOperandTypes()) ==
        TypeRange(function.getResultTypes()))
      return success();
    function.setFunctionType(
        FunctionType::get(module.getContext(), function.getArgumentTypes(),
                          llvm::to_vector(ret.getOperandTypes())));
    for (func::FuncOp caller : callers.lookup(function))
      worklist.insert(caller);
    return visitGradientRule(function);
  }
  // What extents are computed from: dimensions and integer arithmetic.
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex() ||
      op->hasTrait<OpTrait::ConstantLike>() || !isMemoryEffectFree(op))
    return success();
  OpBuilder builder(op);
  Value folded;
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
    std::optional<int64_t> position = dim.getConstantIndex();
    if (!type || !position || *position < 0 || *position >= type.getRank() ||
        type.isDynamicDim(*position))
      return success();
    folded = arith::ConstantIndexOp::create(builder, op->getLoc(),
                                            type.getDimSize(*position));
  } else {
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      matchPattern(operand, m_Constant(&operands.emplace_back()));
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(operands, results)) || results.size() != 1)
      return success();
    auto constant = dyn_cast<Attribute>(results.front());
    folded = constant ? arith::ConstantOp::create(builder, op->getLoc(),
                                                  cast<TypedAttr>(constant))
                            .getResult()
                      : cast<Value>(results.front());
  }
  op->replaceAllUsesWith(ValueRange(folded));
  op->erase();
  return success();
}

LogicalResult Specializer::checkStatic(func::FuncOp function) {
  if (llvm::any_of(function.getArgumentTypes(), isDynamic))
    return success(); // Not all of its dimensions have names.
  WalkResult result = function.walk([&](Operation *op) {
    auto compute = dyn_cast<ComputeOp>(op);
    if (compute && !compute.getExtents().empty()) {
      SmallVector<int64_t> extents = compute.getStaticExtents();
      unsigned position =
          llvm::find(extents, ShapedType::kDynamic) - extents.begin();
      InFlightDiagnostic diagnostic =
          compute.emitOpError("the extent of index '")
          << compute.getIndexName(position)
          << "' stays dynamic: it does not follow from the shapes of the "
             "function's arguments";
      diagnostic.attachNote(compute.getExtents().front().getLoc())
          << "the extent is computed here";
      return WalkResult::interrupt();
    }
    for (Type type : op->getResultTypes())
      if (isDynamic(type)) {
        op->emitOpError("the shape of the result stays dynamic: ") << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

class SpecializePass
    : public neoflow::impl::SpecializePassBase<SpecializePass> {
public:
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringMap<int64_t> known;
    if (auto defaults =
            module->getAttrOfType<DictionaryAttr>(attr::kDefaultDims))
      for (NamedAttribute entry : defaults)
        known[entry.getName().getValue()] =
            cast<IntegerAttr>(entry.getValue()).getInt();
    llvm::StringSet<> given;
    if (failed(readOption(module, known, given)) ||
        failed(Specializer(module, known, given).run()))
      signalPassFailure();
  }

private:
  /// Adds the sizes given on the command line, which override the module's.
  LogicalResult readOption(ModuleOp module, llvm::StringMap<int64_t> &known,
                           llvm::StringSet<> &given) {
    llvm::SetVector<StringRef> names;
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (auto dims = function.getArgAttrOfType<ArrayAttr>(i, attr::kDims))
          for (StringRef name : dims.getAsValueRange<StringAttr>())
            if (!name.empty())
              names.insert(name);
    for (const std::string &entry : sizes) {
      auto [name, text] = StringRef(entry).split('=');
      int64_t size;
      if (name.empty() || text.getAsInteger(10, size) || size < 0)
        return module.emitError("expected sizes of the form NAME=NUMBER, as in "
                                "batch=64, but got '")
               << entry << "'";
      if (!names.contains(name)) {
        InFlightDiagnostic diagnostic = module.emitError("no argument has a "
                                                         "dimension called '")
                                        << name << "'";
        if (!names.empty())
          diagnostic << "; the named dimensions are "
                     << llvm::join(names.getArrayRef(), ", ");
        return diagnostic;
      }
      known[name] = size;
      given.insert(name);
    }
    return success();
  }
};

} // namespace
