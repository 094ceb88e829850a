// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces scans by one call for every step.

#include "Scans.h"

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

namespace neoflow {
#define GEN_PASS_DEF_UNROLLSCANSPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

static void unroll(ScanOp scan) {
  OpBuilder builder(scan);
  Location loc = scan.getLoc();
  SmallVector<Type> types = getStepTypes(scan);
  int64_t steps = scan.getSteps();
  unsigned numCarries = scan.getNumCarries();
  SmallVector<Value> carries(scan.getCarries());
  SmallVector<SmallVector<Value>> outputs(scan.getOutputs().size(),
                                          SmallVector<Value>(steps));
  SmallVector<Type> results(scan.getLastCarries().getTypes());
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      scan, scan.getCalleeAttr());
  for (int64_t step = 0; step < steps; ++step) {
    int64_t position = scan.getReverse() ? steps - 1 - step : step;
    SmallVector<Value> arguments(carries);
    for (Value stack : scan.getStacked()) {
      int64_t rows =
          cast<RankedTensorType>(stack.getType()).getDimSize(0) / steps;
      arguments.push_back(createSlice(
          builder, loc, stack, cast<RankedTensorType>(types[arguments.size()]),
          position * rows));
    }
    llvm::append_range(arguments, scan.getInvariants());
    auto call = func::CallOp::create(builder, loc, callee, arguments);
    carries.assign(call.result_begin(), call.result_begin() + numCarries);
    for (auto [list, output] :
         llvm::zip(outputs, call.getResults().drop_front(numCarries)))
      list[position] = output;
  }
  scan.getLastCarries().replaceAllUsesWith(ValueRange(carries));
  for (auto [result, list] : llvm::zip(scan.getOutputs(), outputs)) {
    auto type = cast<RankedTensorType>(result.getType());
    result.replaceAllUsesWith(createStack(builder, loc, list, type));
  }
  scan.erase();
}

namespace {
struct UnrollScansPass : neoflow::impl::UnrollScansPassBase<UnrollScansPass> {
  void runOnOperation() override {
    SmallVector<ScanOp> scans;
    getOperation().walk([&](ScanOp scan) { scans.push_back(scan); });
    for (ScanOp scan : scans) {
      if (ShapedType::isDynamic(scan.getSteps()) ||
          llvm::any_of(scan->getOperandTypes(), [](Type type) {
            auto tensor = dyn_cast<RankedTensorType>(type);
            return tensor && !tensor.hasStaticShape();
          })) {
        scan.emitOpError("expected static shapes to unroll; run "
                         "neoflow-specialize first");
        return signalPassFailure();
      }
      unroll(scan);
    }
  }
};
} // namespace
