// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vjp, kernel and launch: syntax and verification.

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace neoflow;

//===----------------------------------------------------------------------===//
// VjpOp
//===----------------------------------------------------------------------===//

LogicalResult VjpOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // vjp_c1
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!callee)
    return emitOpError("expected a function, but '")
           << getCallee() << "' is none";
  auto type = cast<FunctionType>(callee.getFunctionType());
  // vjp_c2
  if (TypeRange(getArguments().getTypes()) != TypeRange(type.getInputs())) {
    InFlightDiagnostic diagnostic =
        emitOpError("expected arguments of the types of '")
        << getCallee() << "', " << type;
    diagnostic.attachNote(callee.getLoc()) << "the function is defined here";
    return diagnostic;
  }
  // vjp_c3
  auto isFloat = [](Type t) { return isa<FloatType>(getElementTypeOrSelf(t)); };
  SmallVector<Type> want(type.getResults());
  int64_t previous = -1;
  for (int64_t position : getWrt()) {
    if (position <= previous || position >= type.getNumInputs())
      return emitOpError("expected 'wrt' to list argument positions below ")
             << type.getNumInputs() << " in ascending order, but got "
             << position;
    previous = position;
    Type argument = type.getInput(position);
    if (!isFloat(argument)) {
      InFlightDiagnostic diagnostic =
          emitOpError("cannot differentiate with respect to argument ")
          << position << " of '" << getCallee() << "': its elements are "
          << getElementTypeOrSelf(argument);
      Region *body = callee.getCallableRegion();
      diagnostic.attachNote(body ? body->getArgument(position).getLoc()
                                 : callee.getLoc())
          << "the argument is declared here; integers have no derivative";
      return diagnostic;
    }
    want.push_back(argument);
  }
  // vjp_c4
  SmallVector<Type> cotangents =
      llvm::to_vector(llvm::make_filter_range(type.getResults(), isFloat));
  if (TypeRange(getCotangents().getTypes()) != TypeRange(cotangents))
    return emitOpError("expected ")
           << cotangents.size()
           << " cotangents with the types of the floating-point results of '"
           << getCallee() << "', " << type;
  // vjp_c5
  if (TypeRange(getResultTypes()) != TypeRange(want))
    return emitOpError("expected the results of '")
           << getCallee() << "', then one gradient for each entry of 'wrt'";
  return success();
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     FunctionType type) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = builder.getStringAttr(name);
  properties.function_type = TypeAttr::get(type);
  state.addRegion();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

YieldOp KernelOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

LogicalResult KernelOp::verify() {
  // kernel_c1
  for (Type type : getFunctionType().getResults())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        !tensor || !tensor.hasStaticShape())
      return emitOpError("expected results of static tensor types, but got ")
             << type;
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  // kernel_c2
  for (Operation &op : getBody().front())
    if (!isa<ComputeOp, ScatterOp, YieldOp>(op))
      return op.emitOpError("cannot stand in a kernel, which holds computes "
                            "and scatters only");
  // kernel_c3
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getMapAttr() || !yield.getIndices().empty() ||
      TypeRange(yield.getValues().getTypes()) !=
          TypeRange(getFunctionType().getResults()))
    return emitOpError("expected the body to yield the results of the kernel");
  return success();
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // launch_c1
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getCalleeAttr());
  if (!kernel)
    return emitOpError("expected a kernel, but '")
           << getCallee() << "' is none";
  // launch_c2
  if (TypeRange(getOperands().getTypes()) !=
          TypeRange(kernel.getArgumentTypes()) ||
      TypeRange(getResultTypes()) != TypeRange(kernel.getResultTypes())) {
    InFlightDiagnostic diagnostic =
        emitOpError("expected operands and results of the type of '")
        << getCallee() << "', " << kernel.getFunctionType();
    diagnostic.attachNote(kernel.getLoc()) << "the kernel is defined here";
    return diagnostic;
  }
  return success();
}
