// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimisers as computes.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_OPTIMIZERS_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_OPTIMIZERS_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "FloatBuilder.h"

#include <memory>

namespace neoflow {

struct OptimizerOptions {
  double weightDecay, momentum, beta1, beta2, epsilon;
};

/// Where an update is built: the learning rate, a float, and the number of the
/// update from zero, an i64 (null when nobody uses it); scalars or tensors of
/// rank 0.
struct OptimizerContext {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value learningRate;
  mlir::Value step;
};

/// A compute over `type` whose body gets an element of each tensor of its shape
/// among `inputs`, the only element of tensors of rank 0, and scalars. `emit`
/// works in the compute type of the elements.
mlir::Value
createMap(const OptimizerContext &context, mlir::RankedTensorType type,
          mlir::ValueRange inputs,
          llvm::function_ref<mlir::Value(const FloatBuilder &,
                                         llvm::ArrayRef<mlir::Value>)>
              emit);

/// One step of an optimiser over all parameters.
class OptimizerStep {
public:
  virtual ~OptimizerStep() = default;
  /// The new parameter, then the new states.
  virtual llvm::SmallVector<mlir::Value>
  apply(mlir::Value parameter, mlir::Value gradient,
        llvm::ArrayRef<mlir::Value> states) = 0;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;
  /// Suffixes of the names of the states of a parameter.
  virtual llvm::ArrayRef<llvm::StringRef> getStateNames() const = 0;
  virtual bool usesStep() const { return false; }
  virtual std::unique_ptr<OptimizerStep>
  begin(const OptimizerContext &context) const = 0;
};

/// sgd, momentum, adam or adamw; null for other names.
///
/// With g' = g + decay * p (not in adamw):
/// - sgd: p - rate * g'
/// - momentum: m = momentum * m + g'; p - rate * m
/// - adam (Kingma and Ba, 2015): m = b1 m + (1 - b1) g', v = b2 v + (1 - b2)
///   g'^2, p - rate * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon), with
///   t from one
/// - adamw (Loshchilov and Hutter, 2019): the same on g, and rate * decay * p
/// is
///   subtracted as well
std::unique_ptr<Optimizer> createOptimizer(llvm::StringRef name,
                                           const OptimizerOptions &options);

} // namespace neoflow

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_OPTIMIZERS_H
