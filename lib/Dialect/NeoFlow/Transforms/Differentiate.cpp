// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands neoflow.vjp: for every function and set of arguments one generated
// function that runs forward and then backward.

#include "Differentiate.h"
#include "DifferentiateScan.h"
#include "ReadGradient.h"

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace neoflow {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;
using namespace neoflow::autodiff;

namespace {

bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

class Differentiator {
public:
  explicit Differentiator(ModuleOp module)
      : module(module), symbols(module),
        scans(symbols, [this](func::FuncOp function, ArrayRef<int64_t> wrt,
                              ArrayRef<int64_t> seeded) {
          return getVjp(function, wrt, seeded);
        }) {}

  /// Replaces `op` by a call of the generated function.
  LogicalResult expand(VjpOp op);

private:
  /// The function (arguments, cotangents) -> (results, gradients) of
  /// `function`, for cotangents that are zero except those of the results
  /// `seeded`.
  FailureOr<func::FuncOp> getVjp(func::FuncOp function, ArrayRef<int64_t> wrt,
                                 ArrayRef<int64_t> seeded);
  LogicalResult build(func::FuncOp function, ArrayRef<int64_t> wrt,
                      ArrayRef<int64_t> seeded, func::FuncOp vjp);
  /// The same from the rule that the function names.
  LogicalResult buildFromRule(func::FuncOp function, FlatSymbolRefAttr name,
                              ArrayRef<int64_t> wrt, func::FuncOp vjp);

  ModuleOp module;
  SymbolTable symbols;
  ScanDifferentiator scans;
  llvm::MapVector<std::pair<Operation *, ArrayAttr>, func::FuncOp> generated;
  llvm::SmallPtrSet<Operation *, 8> inProgress;
};

/// The backward half of one generated function.
class ReverseWalk {
public:
  ReverseWalk(OpBuilder &builder, Block &body) : builder(builder), body(body) {}

  /// Marks what depends on `roots`.
  void propagateActivity(ValueRange roots);
  bool isActive(Value value) const { return active.contains(value); }
  void add(Value value, Value cotangent) { terms[value].push_back(cotangent); }
  /// The sum of all that reached `value`; null when nothing did.
  Value take(Value value);
  /// The cotangent of a function's argument, zeros when nothing reached it.
  Value takeArgument(BlockArgument argument);

  OpBuilder &builder;
  Block &body;

private:
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, SmallVector<Value>> terms;
};

} // namespace

void ReverseWalk::propagateActivity(ValueRange roots) {
  active.clear();
  active.insert(roots.begin(), roots.end());
  for (Operation &op : body) {
    // Random numbers, dimensions and stopped values depend on nothing here.
    if (isa<StopGradientOp>(op) ||
        llvm::none_of(op.getOperands(),
                      [&](Value operand) { return isActive(operand); }))
      continue;
    for (Value result : op.getResults())
      if (isFloat(result.getType()))
        active.insert(result);
  }
}

Value ReverseWalk::take(Value value) {
  auto it = terms.find(value);
  if (it == terms.end())
    return {};
  Value sum =
      createSum(builder, gradientLoc(value, value.getLoc()), it->second);
  terms.erase(it);
  return sum;
}

Value ReverseWalk::takeArgument(BlockArgument argument) {
  if (Value sum = take(argument))
    return sum;
  return createZeros(builder, gradientLoc(argument, argument.getLoc()),
                     cast<RankedTensorType>(argument.getType()));
}

FailureOr<func::FuncOp> Differentiator::getVjp(func::FuncOp function,
                                               ArrayRef<int64_t> wrt,
                                               ArrayRef<int64_t> seeded) {
  Builder builder(module.getContext());
  std::pair<Operation *, ArrayAttr> key(
      function, builder.getArrayAttr({builder.getI64ArrayAttr(wrt),
                                      builder.getI64ArrayAttr(seeded)}));
  if (auto it = generated.find(key); it != generated.end())
    return it->second;
  if (function.isExternal()) {
    function.emitError("cannot differentiate '")
        << function.getName() << "', which has no body";
    return failure();
  }
  if (!inProgress.insert(function).second) {
    function.emitError("cannot differentiate '")
        << function.getName() << "', which calls itself";
    return failure();
  }
  FunctionType type = function.getFunctionType();
  SmallVector<Type> inputs(type.getInputs()), results(type.getResults());
  llvm::copy_if(type.getResults(), std::back_inserter(inputs), isFloat);
  std::string name = function.getName().str() + "_vjp";
  for (int64_t position : wrt) {
    Type argument = type.getInput(position);
    if (!isa<RankedTensorType>(argument)) {
      emitError(function.getArgument(position).getLoc(),
                "cannot differentiate with respect to argument ")
          << position << " of '" << function.getName() << "', a scalar "
          << argument << "; make it a tensor of rank 0";
      return failure();
    }
    results.push_back(argument);
    name += "_" + std::to_string(position);
  }
  OpBuilder moduleBuilder(module.getContext());
  moduleBuilder.setInsertionPointAfter(function);
  auto vjp =
      func::FuncOp::create(moduleBuilder, function.getLoc(), name,
                           moduleBuilder.getFunctionType(inputs, results));
  vjp.setPrivate();
  symbols.insert(vjp);
  auto rule = function->getAttrOfType<FlatSymbolRefAttr>(attr::kGradient);
  if (failed(rule ? buildFromRule(function, rule, wrt, vjp)
                  : build(function, wrt, seeded, vjp)))
    return failure();
  inProgress.erase(function);
  generated[key] = vjp;
  return vjp;
}

LogicalResult Differentiator::buildFromRule(func::FuncOp function,
                                            FlatSymbolRefAttr name,
                                            ArrayRef<int64_t> wrt,
                                            func::FuncOp vjp) {
  // (arguments, results, cotangents) -> a gradient for each float argument.
  FunctionType type = function.getFunctionType();
  SmallVector<Type> inputs, gradients;
  llvm::append_range(inputs, type.getInputs());
  llvm::append_range(inputs, type.getResults());
  llvm::copy_if(type.getResults(), std::back_inserter(inputs), isFloat);
  llvm::copy_if(type.getInputs(), std::back_inserter(gradients), isFloat);
  auto want = FunctionType::get(module.getContext(), inputs, gradients);
  auto rule = symbols.lookup<func::FuncOp>(name.getAttr());
  if (!rule)
    return function.emitError("expected the gradient rule ")
           << name << " to be a function of the module";
  if (rule.getFunctionType() != want)
    return rule.emitError("expected the gradient rule of '")
           << function.getName()
           << "' to take its arguments, its results and their cotangents, and "
              "to give a gradient for each float argument, "
           << want << ", but got " << rule.getFunctionType();
  Block *body = vjp.addEntryBlock();
  unsigned numArguments = function.getNumArguments();
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  Location loc = function.getLoc();
  auto forward = func::CallOp::create(
      builder, loc, function, body->getArguments().take_front(numArguments));
  SmallVector<Value> operands(body->getArguments().take_front(numArguments));
  llvm::append_range(operands, forward.getResults());
  llvm::append_range(operands, body->getArguments().drop_front(numArguments));
  auto backward = func::CallOp::create(builder, loc, rule, operands);
  SmallVector<Value> results(forward.getResults());
  for (int64_t position : wrt) {
    unsigned ordinal =
        llvm::count_if(type.getInputs().take_front(position), isFloat);
    results.push_back(backward.getResult(ordinal));
  }
  func::ReturnOp::create(builder, loc, results);
  return success();
}

LogicalResult Differentiator::build(func::FuncOp function,
                                    ArrayRef<int64_t> wrt,
                                    ArrayRef<int64_t> seeded,
                                    func::FuncOp vjp) {
  unsigned numArguments = function.getNumArguments();
  Block *body = vjp.addEntryBlock();
  for (auto [from, to] :
       llvm::zip(function.getArguments(), body->getArguments()))
    to.setLoc(from.getLoc());
  IRMapping mapping;
  mapping.map(function.getArguments(),
              body->getArguments().take_front(numArguments));
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("expected a function of one block to "
                              "differentiate");
  for (Operation &op : function.front().without_terminator())
    builder.clone(op, mapping);
  // Derivatives of derivatives: the inner ones are ordinary calls by then.
  SmallVector<Value> primal;
  for (Value result : function.front().getTerminator()->getOperands())
    primal.push_back(mapping.lookup(result));
  // Keeps track of the results while operations are rewritten.
  auto end = func::ReturnOp::create(builder, function.getLoc(), primal);
  for (auto inner : llvm::make_early_inc_range(body->getOps<VjpOp>()))
    if (failed(expand(inner)))
      return failure();

  ReverseWalk walk(builder, *body);
  SmallVector<Value> roots;
  for (int64_t position : wrt)
    if (!function.getArgAttr(position, attr::kNoGradient))
      roots.push_back(body->getArgument(position));
  walk.propagateActivity(roots);
  for (auto scan : llvm::make_early_inc_range(body->getOps<ScanOp>()))
    if (llvm::any_of(scan.getResults(),
                     [&](Value result) { return walk.isActive(result); }))
      scans.saveCarries(scan);
  walk.propagateActivity(roots);
  for (auto compute : llvm::make_early_inc_range(body->getOps<ComputeOp>()))
    if (llvm::any_of(compute->getResults(),
                     [&](Value result) { return walk.isActive(result); }) &&
        failed(normalizeReductions(compute)))
      return failure();
  primal.assign(end.getOperands().begin(), end.getOperands().end());
  end.erase();
  walk.propagateActivity(roots);

  SmallVector<Operation *> forward;
  for (Operation &op : *body)
    forward.push_back(&op);
  unsigned cotangent = numArguments;
  for (auto [position, result] : llvm::enumerate(primal)) {
    if (!isFloat(result.getType()))
      continue;
    if (walk.isActive(result) &&
        llvm::is_contained(seeded, static_cast<int64_t>(position)))
      walk.add(result, body->getArgument(cotangent));
    ++cotangent;
  }
  for (Operation *op : llvm::reverse(forward)) {
    SmallVector<Value> cotangents;
    for (Value result : op->getResults())
      cotangents.push_back(walk.isActive(result) ? walk.take(result) : Value());
    if (llvm::none_of(cotangents, [](Value value) { return bool(value); }))
      continue;
    if (auto compute = dyn_cast<ComputeOp>(op)) {
      FailureOr<SmallVector<Term>> terms =
          differentiateCompute(builder, compute, cotangents, [&](Value value) {
            return walk.isActive(value);
          });
      if (failed(terms))
        return failure();
      for (const Term &term : *terms)
        walk.add(term.tensor, term.gradient);
      continue;
    }
    if (auto scatter = dyn_cast<ScatterOp>(op)) {
      FailureOr<SmallVector<Term>> terms = differentiateScatter(
          builder, scatter, cotangents.front(),
          [&](Value value) { return walk.isActive(value); });
      if (failed(terms))
        return failure();
      for (const Term &term : *terms)
        walk.add(term.tensor, term.gradient);
      continue;
    }
    if (auto scan = dyn_cast<ScanOp>(op)) {
      FailureOr<SmallVector<Term>> terms =
          scans.differentiate(builder, scan, cotangents, [&](Value value) {
            return walk.isActive(value);
          });
      if (failed(terms))
        return failure();
      for (const Term &term : *terms)
        walk.add(term.tensor, term.gradient);
      continue;
    }
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      SmallVector<int64_t> inner;
      for (auto [i, operand] : llvm::enumerate(call.getOperands()))
        if (walk.isActive(operand))
          inner.push_back(i);
      SmallVector<int64_t> reached;
      for (auto [i, value] : llvm::enumerate(cotangents))
        if (value)
          reached.push_back(i);
      FailureOr<func::FuncOp> calleeVjp = getVjp(callee, inner, reached);
      if (failed(calleeVjp)) {
        call.emitRemark("called here");
        return failure();
      }
      SmallVector<Value> operands(call.getOperands());
      for (auto [result, value] : llvm::zip(call.getResults(), cotangents))
        if (isFloat(result.getType()))
          operands.push_back(
              value ? value
                    : createZeros(builder, call.getLoc(),
                                  cast<RankedTensorType>(result.getType())));
      auto backward =
          func::CallOp::create(builder, call.getLoc(), *calleeVjp, operands);
      for (auto [i, position] : llvm::enumerate(inner))
        walk.add(call.getOperand(position),
                 backward.getResult(call.getNumResults() + i));
      continue;
    }
    InFlightDiagnostic diagnostic = op->emitError("cannot differentiate '")
                                    << op->getName() << "'";
    return diagnostic;
  }
  SmallVector<Value> results(primal);
  for (int64_t position : wrt)
    results.push_back(walk.takeArgument(body->getArgument(position)));
  func::ReturnOp::create(builder, function.getLoc(), results);
  return success();
}

LogicalResult Differentiator::expand(VjpOp op) {
  auto function = symbols.lookup<func::FuncOp>(op.getCallee());
  if (!function)
    return op.emitOpError("expected '")
           << op.getCallee() << "' to be a func.func";
  // A cotangent that is zero takes no part, and neither does what leads to it.
  SmallVector<int64_t> seeded;
  auto cotangent = op.getCotangents().begin();
  for (auto [i, type] :
       llvm::enumerate(function.getFunctionType().getResults())) {
    if (!isFloat(type))
      continue;
    if (!matchPattern(*cotangent++, m_AnyZeroFloat()))
      seeded.push_back(i);
  }
  FailureOr<func::FuncOp> vjp = getVjp(function, op.getWrt(), seeded);
  if (failed(vjp)) {
    op.emitRemark("the derivative is asked for here");
    return failure();
  }
  OpBuilder builder(op);
  SmallVector<Value> operands(op.getArguments());
  llvm::append_range(operands, op.getCotangents());
  auto call = func::CallOp::create(builder, op.getLoc(), *vjp, operands);
  op.replaceAllUsesWith(call.getResults());
  op.erase();
  return success();
}

namespace {
struct DifferentiatePass
    : neoflow::impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    Differentiator differentiator(getOperation());
    SmallVector<VjpOp> ops;
    getOperation().walk([&](VjpOp op) { ops.push_back(op); });
    for (VjpOp op : ops)
      if (failed(differentiator.expand(op)))
        return signalPassFailure();
  }
};
} // namespace
