// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens to gradients, the learning rate and new values around an
// optimiser.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_GRADIENTTRANSFORMS_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_GRADIENTTRANSFORMS_H

#include "Optimizers.h"

#include <string>

namespace neoflow {

struct RateSchedule {
  std::string kind;
  int64_t warmup, steps, every;
  double gamma;

  bool isConstant() const { return kind == "constant" && warmup == 0; }
  /// What is wrong with the options; empty when nothing is.
  std::string verify() const;
};

/// The learning rate of the update `context.step`, a tensor<f32>: the rate of
/// `context` times min(1, (t + 1) / warmup) times, with u = max(0, t - warmup)
/// and U = steps - warmup,
/// - constant: 1
/// - linear: max(0, 1 - u / U)
/// - cosine: (1 + cos(pi min(1, u / U))) / 2
/// - step: gamma^floor(u / every)
/// - inverse-sqrt: 1 / sqrt(max(1, (t + 1) / max(1, warmup)))
Value createScheduledRate(const OptimizerContext &context,
                          const RateSchedule &schedule);

/// `tensor * factor`, in the type that elements of the tensor are computed in.
Value createScaled(const OptimizerContext &context, Value tensor,
                   double factor);

/// Gradients with every element in [-bound, bound].
SmallVector<Value> clipByValue(const OptimizerContext &context,
                               ArrayRef<Value> gradients, double bound);

/// Gradients times min(1, bound / norm), with the Euclidean norm of all of them
/// together.
SmallVector<Value> clipByNorm(const OptimizerContext &context,
                              ArrayRef<Value> gradients, double bound);

/// `yes` where the step `context.step` is the last of `period`, else `no`.
Value createPeriodic(const OptimizerContext &context, int64_t period, Value yes,
                     Value no);

/// `first` in step zero, else `later`, both as elements of `type`.
Value createFirstOr(const OptimizerContext &context, RankedTensorType type,
                    Value first, Value later);

} // namespace neoflow

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_GRADIENTTRANSFORMS_H
