// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups the computes of functions and outlines each group into a kernel; equal
// kernels are shared.

#include "neoflow/Partition/Partition.h"

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"
#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SHA256.h"

namespace neoflow {
#define GEN_PASS_DEF_PARTITIONPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

namespace {

class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp function, TargetAttr target,
                      partition::Decider decider, SymbolTable &symbols,
                      llvm::StringMap<KernelOp> &kernels)
      : function(function), target(target), decider(decider), symbols(symbols),
        kernels(kernels) {}

  LogicalResult run();

private:
  LogicalResult prepare();
  partition::Problem buildProblem();
  std::vector<std::pair<int, int>> getOrderHints();
  KernelOp outline(ArrayRef<Operation *> members);
  Value createCopy(OpBuilder &builder, Value value);

  func::FuncOp function;
  TargetAttr target;
  partition::Decider decider;
  SymbolTable &symbols;
  llvm::StringMap<KernelOp> &kernels;
  SmallVector<Operation *> ops;
  unsigned ordinal = 0;
};

} // namespace

/// A compute that copies `value`.
Value FunctionPartitioner::createCopy(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::vector<std::string> names;
  for (int64_t i = 0; i < type.getRank(); ++i)
    names.push_back("i" + std::to_string(i));
  auto copy =
      ComputeOp::create(builder, function.getLoc(), type, ValueRange(value),
                        ReductionKind::none, ArrayRef<int64_t>(), names);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(copy.getBodyBlock());
  Value element =
      ReadOp::create(builder, function.getLoc(), copy.getInputArguments()[0],
                     builder.getMultiDimIdentityMap(type.getRank()),
                     ValueRange(copy.getIndexArguments()));
  YieldOp::create(builder, function.getLoc(), element);
  return copy.getResult(0);
}

/// Replaces `compute`, whose results do not depend on each other, by one
/// compute for each result.
static void splitResults(ComputeOp compute, SmallVectorImpl<Operation *> &ops) {
  OpBuilder builder(compute);
  auto pick = [](ArrayAttr array, unsigned i) {
    return array && i < array.size()
               ? ArrayAttr::get(array.getContext(), array[i])
               : ArrayAttr();
  };
  for (unsigned i = 0; i < compute.getNumResults(); ++i) {
    ValueRange inits = compute.getInits();
    if (!inits.empty())
      inits = inits.slice(i, 1);
    auto part = ComputeOp::create(
        builder, compute.getLoc(), TypeRange(compute.getResult(i).getType()),
        compute.getInputs(), inits, compute.getExtents(),
        compute.getReductionExtentsAttr(), pick(compute.getKinds(), i),
        pick(compute.getAccAttr(), i), compute.getWhereAttr(),
        pick(compute.getOtherwiseAttr(), i), pick(compute.getIdentityAttr(), i),
        compute.getTiesAttr(), compute.getIndexNamesAttr());
    IRMapping mapping;
    compute.getBody().cloneInto(&part.getBody(), mapping);
    YieldOp yield = part.getYield();
    Value value = yield.getValues()[i];
    yield.getValuesMutable().assign(value);
    // What only other results needed goes.
    SmallVector<Operation *> body;
    for (Operation &op : part.getBodyBlock()->without_terminator())
      body.push_back(&op);
    for (Operation *op : llvm::reverse(body))
      if (isOpTriviallyDead(op))
        op->erase();
    compute.getResult(i).replaceAllUsesWith(part.getResult(0));
    ops.push_back(part);
  }
  compute.erase();
}

/// Leaves nothing but computes, scatters, scans, constants and the return;
/// every result is a value of its own.
LogicalResult FunctionPartitioner::prepare() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("expected a function of one block");
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (auto stop = dyn_cast<StopGradientOp>(op)) {
      stop.replaceAllUsesWith(stop.getInput());
      stop.erase();
      continue;
    }
    if (auto compute = dyn_cast<ComputeOp>(op);
        compute && compute.getNumResults() > 1 &&
        compute.getKind() != ReductionKind::combine) {
      splitResults(compute, ops);
      continue;
    }
    if (isa<ComputeOp, ScatterOp, ScanOp>(op)) {
      ops.push_back(&op);
      continue;
    }
    if (isa<func::ReturnOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    InFlightDiagnostic diagnostic =
        op.emitError("cannot be compiled: expected computes only, but got '")
        << op.getName() << "'";
    if (isa<VjpOp>(op))
      diagnostic.attachNote() << "run neoflow-differentiate first";
    return diagnostic;
  }
  Operation *terminator = function.front().getTerminator();
  OpBuilder builder(terminator);
  llvm::SmallPtrSet<Value, 8> seen;
  for (auto [i, operand] : llvm::enumerate(terminator->getOpOperands())) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      return function.emitError("cannot compile '")
             << function.getName() << "': result " << i << " is a scalar "
             << value.getType() << "; make it a tensor of rank 0";
    bool computed =
        isa_and_nonnull<ComputeOp, ScatterOp, ScanOp>(value.getDefiningOp());
    auto state = function.getResultAttrOfType<IntegerAttr>(i, attr::kNewState);
    // An argument that is its own new state needs nothing.
    bool unchanged =
        state && isa<BlockArgument>(value) &&
        static_cast<int64_t>(cast<BlockArgument>(value).getArgNumber()) ==
            state.getInt();
    if (unchanged || (computed && seen.insert(value).second))
      continue;
    Value copy = createCopy(builder, value);
    ops.push_back(copy.getDefiningOp());
    operand.set(copy);
  }
  return success();
}

partition::Problem FunctionPartitioner::buildProblem() {
  partition::Problem problem;
  llvm::DenseMap<Value, int> producer;
  llvm::DenseMap<ArrayAttr, int> domains;
  Builder builder(function.getContext());
  for (auto [i, op] : llvm::enumerate(ops)) {
    partition::Node node;
    auto compute = dyn_cast<ComputeOp>(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    node.heavy = !compute || compute.getKind() != ReductionKind::none ||
                 !compute.getInits().empty();
    node.fusible = compute && compute.getNumResults() == 1;
    node.domain = domains
                      .try_emplace(builder.getI64ArrayAttr(type.getShape()),
                                   domains.size())
                      .first->second;
    node.bytes = type.getNumElements() *
                 ((type.getElementType().getIntOrFloatBitWidth() + 7) / 8);
    llvm::MapVector<int, bool> edges;
    auto addEdge = [&](Value value, bool pointwise) {
      auto it = producer.find(value);
      if (it == producer.end())
        return;
      auto [edge, inserted] = edges.insert({it->second, pointwise});
      edge->second &= pointwise;
    };
    if (compute) {
      for (ReadOp read : compute.getBody().getOps<ReadOp>()) {
        std::optional<AffineMap> map = getSubscriptsOverIndices(read);
        addEdge(compute.getBoundOperand(cast<BlockArgument>(read.getTensor())),
                map && map->isIdentity());
      }
    }
    // Inputs that no read mentions, initial values, destinations.
    for (Value operand : op->getOperands())
      if (auto it = producer.find(operand);
          it != producer.end() && !edges.contains(it->second))
        edges.insert({it->second, false});
    for (auto [from, pointwise] : edges)
      node.operands.push_back({from, pointwise});
    for (Value result : op->getResults())
      producer[result] = static_cast<int>(i);
    problem.nodes.push_back(std::move(node));
  }
  return problem;
}

/// Readers of an old state come before the kernel that makes the new one, which
/// can then be written over it.
std::vector<std::pair<int, int>> FunctionPartitioner::getOrderHints() {
  llvm::DenseMap<Operation *, int> nodeOf;
  for (auto [i, op] : llvm::enumerate(ops))
    nodeOf[op] = static_cast<int>(i);
  std::vector<std::pair<int, int>> hints;
  Operation *terminator = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto state = function.getResultAttrOfType<IntegerAttr>(i, attr::kNewState);
    auto producer = nodeOf.find(value.getDefiningOp());
    if (!state || producer == nodeOf.end())
      continue;
    for (Operation *reader : function.getArgument(state.getInt()).getUsers())
      if (auto it = nodeOf.find(reader); it != nodeOf.end())
        hints.push_back({it->second, producer->second});
  }
  return hints;
}

/// A hash of the text that equal kernels share: names, locations, target and
/// schedule removed.
static std::string getKey(KernelOp kernel) {
  OwningOpRef<Operation *> clone = kernel->clone();
  auto copy = cast<KernelOp>(*clone);
  copy.setName("kernel");
  copy.removeKeyAttr();
  copy.removeTargetAttr();
  copy.removeScheduleAttr();
  copy->walk([](Operation *op) {
    if (auto compute = dyn_cast<ComputeOp>(op))
      compute.removeIndexNamesAttr();
    else if (auto scatter = dyn_cast<ScatterOp>(op))
      scatter.removeIndexNamesAttr();
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  copy->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  llvm::SHA256 hash;
  hash.update(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// What the model calls the operation at `loc`, as far as a symbol may be
/// called so; otherwise `fallback`.
static std::string getReadableName(Location loc, StringRef fallback) {
  std::string name;
  for (char c : getSourceName(loc))
    name += llvm::isAlnum(c) ? c : '_';
  return name.empty() || llvm::isDigit(name.front()) ? fallback.str() : name;
}

KernelOp FunctionPartitioner::outline(ArrayRef<Operation *> members) {
  llvm::SmallPtrSet<Operation *, 8> inside(members.begin(), members.end());
  llvm::SetVector<Value> inputs, outputs;
  for (Operation *op : members) {
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        inputs.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        outputs.insert(result);
  }
  MLIRContext *context = function.getContext();
  SmallVector<Location> locations;
  for (Operation *op : members)
    locations.push_back(op->getLoc());
  Location loc = FusedLoc::get(context, locations);
  OpBuilder builder(function);
  std::string name =
      (getReadableName(members.front()->getLoc(), function.getName()) + "_" +
       Twine(ordinal++))
          .str();
  auto kernel = KernelOp::create(
      builder, loc, name,
      builder.getFunctionType(TypeRange(ValueRange(inputs.getArrayRef())),
                              TypeRange(ValueRange(outputs.getArrayRef()))));
  kernel.setTargetAttr(target);
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : members)
    builder.clone(*op, mapping);
  SmallVector<Value> yields;
  for (Value output : outputs)
    yields.push_back(mapping.lookup(output));
  YieldOp::create(builder, loc, yields);

  std::string key = getKey(kernel);
  kernel.setKey(key);
  auto [it, inserted] = kernels.try_emplace(key, kernel);
  if (inserted)
    symbols.insert(kernel);
  else
    kernel.erase();
  // The launch stands where the last member stood.
  builder.setInsertionPoint(members.back());
  auto launch = LaunchOp::create(
      builder, loc, it->second.getResultTypes(),
      FlatSymbolRefAttr::get(it->second.getNameAttr()), inputs.getArrayRef());
  for (auto [i, output] : llvm::enumerate(outputs)) {
    Value value = output;
    value.replaceUsesWithIf(launch.getResult(i), [&](OpOperand &use) {
      return !inside.contains(use.getOwner());
    });
  }
  return it->second;
}

LogicalResult FunctionPartitioner::run() {
  // Nothing to do where this was done before.
  if (!function.getOps<LaunchOp>().empty() &&
      function.getOps<ComputeOp>().empty() &&
      function.getOps<ScatterOp>().empty())
    return success();
  if (failed(prepare()))
    return failure();
  partition::Problem problem = buildProblem();
  std::string reason = partition::check(problem);
  partition::Grouping grouping;
  if (reason.empty()) {
    grouping = partition::group(problem, decider);
    reason = partition::verify(problem, grouping);
  }
  if (!reason.empty())
    return function.emitError("cannot partition '")
           << function.getName() << "': " << reason;
  // The heavy one comes first; it reads nothing of its group.
  SmallVector<SmallVector<Operation *>> members(ops.size());
  for (auto [i, op] : llvm::enumerate(ops)) {
    SmallVector<Operation *> &group = members[grouping[i]];
    group.insert(problem.nodes[i].heavy ? group.begin() : group.end(), op);
  }
  // Launches follow each other in an order that respects the groups.
  Operation *terminator = function.front().getTerminator();
  for (int group : partition::order(problem, grouping, getOrderHints()))
    for (Operation *op : members[group])
      op->moveBefore(terminator);
  for (ArrayRef<Operation *> group : members) {
    // A scan stands for itself: its function has kernels of its own.
    if (group.empty() || isa<ScanOp>(group.front()))
      continue;
    if (failed(verifyKernel(outline(group))))
      return failure();
    for (Operation *op : llvm::reverse(group))
      op->erase();
  }
  return success();
}

namespace {
struct PartitionPass : neoflow::impl::PartitionPassBase<PartitionPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<TargetInfo> info = getTarget(target);
    if (!info) {
      module.emitError("unknown target '")
          << target << "'; known targets are "
          << llvm::join(getTargetNames(), ", ");
      return signalPassFailure();
    }
    partition::Decider choice = partition::Decider::rules;
    if (decider == "none") {
      choice = partition::Decider::none;
    } else if (decider != "rules") {
      module.emitError("unknown decider '")
          << decider << "'; known deciders are none, rules";
      return signalPassFailure();
    }
    TargetAttr attribute = toAttr(&getContext(), *info);
    SymbolTable symbols(module);
    llvm::StringMap<KernelOp> kernels;
    // Kernels that are there already: from an earlier run, or written by hand.
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      if (failed(verifyKernel(kernel)))
        return signalPassFailure();
      if (!kernel.getTargetAttr())
        kernel.setTargetAttr(attribute);
      if (kernel.getTargetAttr().getName() != target) {
        kernel.emitOpError("expected the target '")
            << target << "', but got '" << kernel.getTargetAttr().getName()
            << "'";
        return signalPassFailure();
      }
      kernel.setKey(getKey(kernel));
      kernels.try_emplace(*kernel.getKey(), kernel);
    }
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      if (failed(
              FunctionPartitioner(function, attribute, choice, symbols, kernels)
                  .run()))
        return signalPassFailure();
    }
  }
};
} // namespace
