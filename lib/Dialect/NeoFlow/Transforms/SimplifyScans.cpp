// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drops what scans carry, read or return for nothing.

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace neoflow {
#define GEN_PASS_DEF_SIMPLIFYSCANSPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

namespace {
/// Which operands and results of a scan go.
struct Superfluous {
  BitVector operands, results;
  /// Carries that every step returns as it got them.
  SmallVector<unsigned> constantCarries;

  bool any() const {
    return operands.any() || results.any() || !constantCarries.empty();
  }
};
} // namespace

static Superfluous findSuperfluous(ScanOp scan, func::FuncOp callee) {
  Superfluous found{
      BitVector(scan.getNumOperands()), BitVector(scan.getNumResults()), {}};
  Operation *end = callee.front().getTerminator();
  for (unsigned i = 0; i < scan.getNumResults(); ++i) {
    bool isCarry = i < scan.getNumCarries();
    if (isCarry && end->getOperand(i) == callee.getArgument(i)) {
      found.constantCarries.push_back(i);
      found.operands.set(i);
      found.results.set(i);
    } else if (scan.getResult(i).use_empty() &&
               (!isCarry || callee.getArgument(i).use_empty())) {
      found.results.set(i);
      if (isCarry)
        found.operands.set(i);
    }
  }
  for (unsigned i = scan.getNumCarries(); i < scan.getNumOperands(); ++i)
    if (callee.getArgument(i).use_empty())
      found.operands.set(i);
  return found;
}

/// Erases what nothing uses, from the last operation to the first.
static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Returns whether anything changed.
static bool simplify(ScanOp scan, SymbolTable &symbols) {
  auto callee = symbols.lookup<func::FuncOp>(scan.getCallee());
  if (!callee || callee.isExternal() || ShapedType::isDynamic(scan.getSteps()))
    return false;
  if (scan->use_empty()) {
    scan.erase();
    return true;
  }
  Superfluous found = findSuperfluous(scan, callee);
  if (!found.any())
    return false;

  // Others may call the function as it is.
  func::FuncOp shorter = callee.clone();
  shorter.setPrivate();
  symbols.insert(shorter);
  SmallVector<Value> invariants(scan.getInvariants());
  for (unsigned i : found.constantCarries) {
    (void)shorter.insertArgument(shorter.getNumArguments(),
                                 shorter.getArgumentTypes()[i], {},
                                 shorter.getArgument(i).getLoc());
    shorter.getArgument(i).replaceAllUsesWith(shorter.getArguments().back());
    invariants.push_back(scan.getCarries()[i]);
    scan.getResult(i).replaceAllUsesWith(scan.getCarries()[i]);
  }
  shorter.front().getTerminator()->eraseOperands(found.results);
  (void)shorter.eraseResults(found.results);
  eraseDead(shorter.front());
  for (unsigned i = scan.getNumCarries(); i < scan.getNumOperands(); ++i)
    if (shorter.getArgument(i).use_empty())
      found.operands.set(i);
  BitVector arguments = found.operands;
  arguments.resize(shorter.getNumArguments());
  (void)shorter.eraseArguments(arguments);

  auto keep = [&](OperandRange operands) {
    SmallVector<Value> kept;
    for (unsigned i = 0; i < operands.size(); ++i)
      if (!found.operands[operands.getBeginOperandIndex() + i])
        kept.push_back(operands[i]);
    return kept;
  };
  SmallVector<Value> carries = keep(scan.getCarries()),
                     stacked = keep(scan.getStacked());
  SmallVector<Value> fixed = keep(scan.getInvariants());
  fixed.append(invariants.begin() + scan.getInvariants().size(),
               invariants.end());
  SmallVector<Type> types;
  SmallVector<Value> results;
  for (Value result : scan.getResults())
    if (!found.results[cast<OpResult>(result).getResultNumber()]) {
      types.push_back(result.getType());
      results.push_back(result);
    }
  if (!types.empty()) {
    OpBuilder builder(scan);
    auto replacement = ScanOp::create(
        builder, scan.getLoc(), types, FlatSymbolRefAttr::get(shorter),
        builder.getI64IntegerAttr(scan.getSteps()), scan.getReverseAttr(),
        scan.getCheckpointAttr(), carries, stacked, fixed);
    for (auto [from, to] : llvm::zip(results, replacement.getResults()))
      from.replaceAllUsesWith(to);
  }
  scan.erase();
  if (callee.isPrivate() &&
      SymbolTable::symbolKnownUseEmpty(callee, symbols.getOp()))
    symbols.erase(callee);
  return true;
}

namespace {
struct SimplifyScansPass
    : neoflow::impl::SimplifyScansPassBase<SimplifyScansPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    // What one scan no longer reads another may no longer have to return.
    while (true) {
      WalkResult result = module.walk([&](ScanOp scan) {
        return simplify(scan, symbols) ? WalkResult::interrupt()
                                       : WalkResult::advance();
      });
      if (!result.wasInterrupted())
        return;
    }
  }
};
} // namespace
