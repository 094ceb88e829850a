// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass: kernels become functions of the ABI.

#include "Families.h"

#include "neoflow/Conversion/Passes.h"
#include "neoflow/Dialect/NeoFlow/Utils/ScheduleAttrUtils.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace neoflow {
#define GEN_PASS_DEF_CONVERTNEOFLOWTOLOOPSPASS
#include "neoflow/Conversion/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;
using namespace neoflow::loops;

/// The flat buffer of a tensor or scalar.
static MemRefType getBufferType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t elements = tensor ? tensor.getNumElements() : 1;
  return MemRefType::get({elements},
                         getStorageType(getElementTypeOrSelf(type)));
}

/// `pointer` as a memref of `type`.
static Value castPointer(OpBuilder &builder, Location loc,
                         const LLVMTypeConverter &converter, MemRefType type,
                         Value pointer) {
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder, loc, converter, type, pointer);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

static std::unique_ptr<FamilyLowering>
createLowering(const KernelNest &nest, const Schedule &schedule,
               const std::optional<Contraction> &contraction) {
  switch (schedule.family) {
  case Family::elementwise:
    return createElementwise(nest, schedule);
  case Family::reduction:
    return createReduction(nest, schedule);
  case Family::contraction:
    return createContraction(nest, schedule, *contraction);
  case Family::scatter:
    return createScatter(nest, schedule);
  }
  llvm_unreachable("all families are handled");
}

static LogicalResult convertKernel(KernelOp kernel,
                                   const LLVMTypeConverter &converter) {
  if (!kernel.getScheduleAttr())
    return kernel.emitOpError("expected a schedule; run "
                              "neoflow-select-schedule first");
  std::optional<Schedule> schedule = fromAttr(kernel.getScheduleAttr());
  if (!schedule)
    return kernel.emitOpError("expected a known schedule family, but got '")
           << kernel.getScheduleAttr().getFamily() << "'";
  std::optional<Contraction> contraction;
  if (schedule->family == Family::contraction)
    contraction =
        matchContraction(cast<ComputeOp>(kernel.getBody().front().front()));
  KernelNest nest = buildNest(kernel, contraction);
  std::unique_ptr<FamilyLowering> lowering =
      createLowering(nest, *schedule, contraction);

  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Type i64 = builder.getI64Type();
  auto function = func::FuncOp::create(
      builder, loc, kernel.getName(),
      builder.getFunctionType({pointer, i64, i64, pointer}, {}));
  function->setAttr("neoflow.phases",
                    builder.getArrayAttr(builder.getDictionaryAttr(
                        {builder.getNamedAttr(
                             "symbol", builder.getStringAttr(kernel.getName())),
                         builder.getNamedAttr(
                             "workgroups", builder.getI64IntegerAttr(
                                               lowering->getWorkgroups()))})));
  function->setAttr("neoflow.workspace",
                    builder.getI64IntegerAttr(lowering->getWorkspaceBytes()));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  KernelFunction parts;
  int64_t position = 0;
  auto bind = [&](Type type) {
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointer, pointer, entry->getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(position++)});
    Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
    return castPointer(builder, loc, converter, getBufferType(type), address);
  };
  for (BlockArgument argument : kernel.getBody().getArguments())
    parts.buffers[argument] = bind(argument.getType());
  for (Type type : kernel.getFunctionType().getResults())
    parts.results.push_back(bind(type));
  Type indexType = builder.getIndexType();
  parts.begin = arith::IndexCastOp::create(builder, loc, indexType,
                                           entry->getArgument(1));
  parts.end = arith::IndexCastOp::create(builder, loc, indexType,
                                         entry->getArgument(2));
  parts.workspace = castPointer(
      builder, loc, converter,
      MemRefType::get({lowering->getWorkspaceBytes()}, builder.getI8Type()),
      entry->getArgument(3));
  lowering->emit(builder, loc, parts);
  func::ReturnOp::create(builder, loc);
  kernel.erase();
  return success();
}

namespace {
struct ConvertNeoFlowToLoopsPass
    : neoflow::impl::ConvertNeoFlowToLoopsPassBase<ConvertNeoFlowToLoopsPass> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (failed(convertKernel(kernel, converter)))
        return signalPassFailure();
  }
};
} // namespace
