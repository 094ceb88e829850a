// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the dialect, its type helpers, and the verification of its
// discardable attributes.

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace neoflow;

#include "neoflow/Dialect/NeoFlow/IR/NeoFlowDialect.cpp.inc"

#define GET_OP_CLASSES
#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.cpp.inc"

namespace {
/// Everything but kernels may be inlined into any function.
struct NeoFlowInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void NeoFlowDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.cpp.inc"
      >();
  registerAttributes();
  addInterfaces<NeoFlowInlinerInterface>();
}

Operation *NeoFlowDialect::materializeConstant(OpBuilder &builder,
                                               Attribute value, Type type,
                                               Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool neoflow::isSupportedElementType(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
         type.isSignlessInteger(1) || type.isSignlessInteger(8) ||
         type.isSignlessInteger(32) || type.isSignlessInteger(64);
}

StringRef neoflow::getSourceName(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getName().getValue();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getSourceName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getSourceName(part); !name.empty())
        return name;
  return {};
}

Type neoflow::getComputeType(Type type) {
  if (type.isF16() || type.isBF16())
    return Float32Type::get(type.getContext());
  return type;
}

TypedAttr neoflow::getIdentity(ReductionKind kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    switch (kind) {
    case ReductionKind::sum:
      return FloatAttr::get(type, 0.0);
    case ReductionKind::prod:
      return FloatAttr::get(type, 1.0);
    case ReductionKind::max:
      return FloatAttr::get(type, llvm::APFloat::getInf(semantics, true));
    case ReductionKind::min:
      return FloatAttr::get(type, llvm::APFloat::getInf(semantics, false));
    default:
      return {};
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  switch (kind) {
  case ReductionKind::sum:
  case ReductionKind::or_:
  case ReductionKind::umax:
    return IntegerAttr::get(type, llvm::APInt::getZero(width));
  case ReductionKind::prod:
    return IntegerAttr::get(type, llvm::APInt(width, 1));
  case ReductionKind::max:
    return IntegerAttr::get(type, llvm::APInt::getSignedMinValue(width));
  case ReductionKind::min:
    return IntegerAttr::get(type, llvm::APInt::getSignedMaxValue(width));
  case ReductionKind::umin:
  case ReductionKind::and_:
    return IntegerAttr::get(type, llvm::APInt::getAllOnes(width));
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// role_c1: `neoflow.param = "name"` and the like hold a name.
static LogicalResult verifyName(Operation *op, NamedAttribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.getValue().empty())
    return op->emitError("expected '")
           << attribute.getName().getValue() << "' to hold a name, as in '"
           << attribute.getName().getValue() << " = \"x\"', but got "
           << attribute.getValue();
  return success();
}

/// role_c13: no earlier argument of `function` goes by the same name.
static LogicalResult verifyUniqueName(FunctionOpInterface function,
                                      unsigned argument, Attribute name) {
  for (unsigned other = 0; other < argument; ++other)
    for (StringRef role :
         {attr::kParam, attr::kState, attr::kInput, attr::kLabel})
      if (function.getArgAttr(other, role) == name)
        return function->emitError("expected arguments to have names of their "
                                   "own, but ")
               << other << " and " << argument << " are both called " << name
               << "; a tensor that is used twice is one argument";
  return success();
}

LogicalResult NeoFlowDialect::verifyRegionArgAttribute(
    Operation *op, unsigned, unsigned argIndex, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  StringRef name = attribute.getName();
  if (!function)
    return op->emitError("expected '") << name << "' on a function argument";
  Type type = function.getArgumentTypes()[argIndex];
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (name == attr::kParam || name == attr::kState || name == attr::kInput ||
      name == attr::kLabel) {
    // role_c2
    if (!tensor)
      return op->emitError("expected argument ")
             << argIndex << " with '" << name << "' to be a tensor, but got "
             << type;
    if (failed(verifyName(op, attribute)))
      return failure();
    return verifyUniqueName(function, argIndex, attribute.getValue());
  }
  if (name == attr::kSeed || name == attr::kStep) {
    // role_c3
    if (!type.isInteger(64))
      return op->emitError("expected argument ")
             << argIndex << " with '" << name << "' to be an i64, but got "
             << type;
    return success();
  }
  if (name == attr::kLearningRate) {
    // role_c4
    if (!isa<FloatType>(type))
      return op->emitError("expected argument ")
             << argIndex << " with '" << name
             << "' to be a floating-point scalar, but got " << type;
    return success();
  }
  if (name == attr::kDims) {
    // role_c5
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!tensor || !names ||
        names.size() != static_cast<size_t>(tensor.getRank()))
      return op->emitError("expected '")
             << name << "' of argument " << argIndex
             << " to list one name for each dimension of a tensor";
    for (auto [i, entry] : llvm::enumerate(names)) {
      auto dim = dyn_cast<StringAttr>(entry);
      if (!dim)
        return op->emitError("expected '")
               << name << "' of argument " << argIndex << " to give dimension "
               << i << " a string";
      if (dim.getValue().empty() && tensor.isDynamicDim(i))
        return op->emitError("expected '")
               << name << "' of argument " << argIndex
               << " to name its dynamic dimension " << i;
    }
    return success();
  }
  if (name == attr::kNoGradient || name == attr::kZeros)
    return success();
  // role_c10
  return op->emitError("unknown attribute '") << name << "' on an argument";
}

LogicalResult NeoFlowDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned resultIndex, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  StringRef name = attribute.getName();
  if (!function)
    return op->emitError("expected '") << name << "' on a function result";
  Type type = function.getResultTypes()[resultIndex];
  if (name == attr::kLoss || name == attr::kMetric) {
    // role_c6
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() != 0 ||
        !isa<FloatType>(tensor.getElementType()))
      return op->emitError("expected result ")
             << resultIndex << " with '" << name
             << "' to be a floating-point tensor of rank 0, but got " << type;
    return name == attr::kLoss ? success() : verifyName(op, attribute);
  }
  if (name == attr::kNewState) {
    // role_c7
    auto position = dyn_cast<IntegerAttr>(attribute.getValue());
    int64_t index = position ? position.getValue().getSExtValue() : -1;
    if (index < 0 || index >= function.getNumArguments() ||
        function.getArgumentTypes()[index] != type)
      return op->emitError("expected '")
             << name << "' of result " << resultIndex
             << " to name an argument of its type, " << type;
    return success();
  }
  if (name == attr::kParam || name == attr::kState)
    return verifyName(op, attribute);
  // role_c10
  return op->emitError("unknown attribute '") << name << "' on a result";
}

LogicalResult
NeoFlowDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == attr::kDefaultDims) {
    // role_c8
    auto dims = dyn_cast<DictionaryAttr>(attribute.getValue());
    bool valid = isa<ModuleOp>(op) && dims &&
                 llvm::all_of(dims, [](NamedAttribute entry) {
                   auto size = dyn_cast<IntegerAttr>(entry.getValue());
                   return size && size.getType().isSignlessInteger(64) &&
                          size.getInt() >= 0;
                 });
    if (!valid)
      return op->emitError("expected '")
             << name << "' on a module, giving sizes to dimensions, as in '"
             << name << " = {batch = 64}'";
    return success();
  }
  if (name == attr::kOptimizer || name == attr::kLearningRate) {
    // role_c11
    bool valid =
        isa<ModuleOp>(op) &&
        (name == attr::kOptimizer ? isa<StringAttr>(attribute.getValue())
                                  : isa<FloatAttr>(attribute.getValue()));
    if (!valid)
      return op->emitError("expected '")
             << name << "' on a module, as in '" << name
             << (name == attr::kOptimizer ? " = \"adam\"'" : " = 0.001'");
    return success();
  }
  if (name == attr::kMaterialize) {
    // role_c12
    if (!isa<ComputeOp>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitError("expected '")
             << name << "' without a value, on a neoflow.compute";
    return success();
  }
  if (name == attr::kGradient) {
    // role_c9
    if (!isa<FunctionOpInterface>(op) ||
        !isa<FlatSymbolRefAttr>(attribute.getValue()))
      return op->emitError("expected '")
             << name << "' to name a function, on a function";
    return success();
  }
  return success();
}
