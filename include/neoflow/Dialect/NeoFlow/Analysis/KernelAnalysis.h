// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel is made of, as schedules and code generation see it.

#ifndef NEOFLOW_DIALECT_NEOFLOW_ANALYSIS_KERNELANALYSIS_H
#define NEOFLOW_DIALECT_NEOFLOW_ANALYSIS_KERNELANALYSIS_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"
#include "neoflow/Schedule/Schedule.h"

#include <optional>

namespace neoflow {

/// What an index of a contraction stands for: it occurs in the left factor and
/// the result, in the right factor and the result, in everything, or is summed.
enum class ContractionRole { left, right, batch, reduction };

/// A sum of products of two factors, each a scalar expression of reads.
struct Contraction {
  /// One role for each index of the compute.
  llvm::SmallVector<ContractionRole> roles;
  /// Values in the body. The right factor holds the innermost index of the
  /// result wherever one of them does, so that vectors run along it.
  mlir::Value left, right;
  /// For each constraint of the domain (one set at most), whether the left
  /// factor is masked by it; otherwise the right one is.
  llvm::SmallVector<bool> maskLeft;
};

/// `compute` as a contraction; nothing when it is none, or too small in one of
/// its roles for packing to pay.
std::optional<Contraction> matchContraction(ComputeOp compute);

/// The coefficient of dimension `dim` in `expr`; nothing when it occurs under a
/// division or remainder.
std::optional<int64_t> getCoefficient(mlir::AffineExpr expr, unsigned dim);

/// Row-major position of the subscripts `map` in a tensor of `shape`.
mlir::AffineExpr linearize(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// Checks that code can be generated for `kernel`: one result for each
/// compute, static extents, one common result shape, reductions in the first
/// compute only, identity reads of values of the kernel; or a single scatter.
/// Emits what is wrong.
mlir::LogicalResult verifyKernel(KernelOp kernel);

/// The workload of a kernel that satisfies verifyKernel.
Workload getWorkload(KernelOp kernel);

/// Floating-point operations of one launch, and bytes of its arguments and
/// results.
int64_t getFlops(KernelOp kernel);
int64_t getBytes(KernelOp kernel);

} // namespace neoflow

#endif // NEOFLOW_DIALECT_NEOFLOW_ANALYSIS_KERNELANALYSIS_H
