// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses a function, differentiates it, and interprets both.

#ifndef NEOFLOW_TEST_UNITTESTS_DIALECT_NEOFLOW_TRANSFORMS_GRADIENT_H
#define NEOFLOW_TEST_UNITTESTS_DIALECT_NEOFLOW_TRANSFORMS_GRADIENT_H

#include "Interpreter.h"

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace neoflow::test {

/// A context with every dialect that programs use.
inline void loadDialects(MLIRContext &context) {
  context.loadDialect<NeoFlowDialect, arith::ArithDialect, func::FuncDialect,
                      math::MathDialect, affine::AffineDialect,
                      tensor::TensorDialect>();
}

/// A floating-point tensor.
inline Tensor floats(MLIRContext &context, std::vector<int64_t> shape,
                     std::vector<double> values) {
  Tensor result;
  result.shape = std::move(shape);
  result.elementType = Float64Type::get(&context);
  result.floats = std::move(values);
  return result;
}

inline Tensor integers(MLIRContext &context, std::vector<int64_t> shape,
                       std::vector<int64_t> values) {
  Tensor result;
  result.shape = std::move(shape);
  result.elementType = IntegerType::get(&context, 64);
  result.integers = std::move(values);
  return result;
}

/// The results of `@f` in `module`, followed by its gradients with respect to
/// `wrt`, for the cotangents `dy`.
inline std::vector<Tensor> runVjp(ModuleOp module, ArrayRef<int64_t> wrt,
                                  std::vector<Tensor> inputs,
                                  std::vector<Tensor> dy) {
  auto function = module.lookupSymbol<func::FuncOp>("f");
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  FunctionType type = function.getFunctionType();
  SmallVector<Type> arguments(type.getInputs()), results(type.getResults());
  for (Type result : type.getResults())
    if (isa<FloatType>(cast<RankedTensorType>(result).getElementType()))
      arguments.push_back(result);
  for (int64_t position : wrt)
    results.push_back(type.getInput(position));
  auto gradient =
      func::FuncOp::create(builder, function.getLoc(), "gradient",
                           builder.getFunctionType(arguments, results));
  Block *entry = gradient.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  ValueRange all(entry->getArguments());
  auto vjp = VjpOp::create(builder, function.getLoc(), results, "f",
                           all.take_front(type.getNumInputs()), wrt,
                           all.drop_front(type.getNumInputs()));
  func::ReturnOp::create(builder, function.getLoc(), vjp.getResults());
  PassManager manager(module.getContext());
  manager.addPass(createDifferentiatePass());
  if (failed(manager.run(module))) {
    ADD_FAILURE() << "differentiation failed";
    return {};
  }
  for (Tensor &cotangent : dy)
    inputs.push_back(std::move(cotangent));
  FailureOr<std::vector<Tensor>> outputs = interpret(gradient, inputs);
  if (failed(outputs)) {
    ADD_FAILURE() << "interpretation failed";
    return {};
  }
  return *outputs;
}

inline std::vector<Tensor> runVjp(MLIRContext &context, StringRef source,
                                  ArrayRef<int64_t> wrt,
                                  std::vector<Tensor> inputs,
                                  std::vector<Tensor> dy) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(source, ParserConfig(&context));
  if (!module) {
    ADD_FAILURE() << "the source does not parse";
    return {};
  }
  return runVjp(*module, wrt, std::move(inputs), std::move(dy));
}

} // namespace neoflow::test

#endif // NEOFLOW_TEST_UNITTESTS_DIALECT_NEOFLOW_TRANSFORMS_GRADIENT_H
