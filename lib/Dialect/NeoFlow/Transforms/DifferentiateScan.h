// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse mode of scans: the reversed scan over saved carries.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_DIFFERENTIATESCAN_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_DIFFERENTIATESCAN_H

#include "Differentiate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace neoflow::autodiff {

class ScanDifferentiator {
public:
  /// The function (arguments, cotangents of the float results) -> (results,
  /// gradients of the arguments `wrt`), for cotangents that are zero except
  /// those of the results `seeded`.
  using GetVjp = std::function<mlir::FailureOr<mlir::func::FuncOp>(
      mlir::func::FuncOp, llvm::ArrayRef<int64_t> wrt,
      llvm::ArrayRef<int64_t> seeded)>;

  ScanDifferentiator(mlir::SymbolTable &symbols, GetVjp getVjp)
      : symbols(symbols), getVjp(std::move(getVjp)) {}

  /// Replaces `scan` by scans that `differentiate` knows: none with
  /// checkpoints, and each with the carries before every step as additional
  /// outputs.
  void saveCarries(ScanOp scan);

  /// One term for every operand of `scan` that `isActive`, given the cotangents
  /// of its results (null: zero). The scan is one that `saveCarries` made.
  /// Gradients of invariants are summed over the steps in the carry of the
  /// reversed scan, in f32 or wider.
  mlir::FailureOr<llvm::SmallVector<Term>>
  differentiate(mlir::OpBuilder &builder, ScanOp scan,
                llvm::ArrayRef<mlir::Value> cotangents,
                llvm::function_ref<bool(mlir::Value)> isActive);

private:
  mlir::func::FuncOp getSaving(mlir::func::FuncOp callee, unsigned numCarries);
  /// One step of the reversed scan.
  mlir::FailureOr<mlir::func::FuncOp>
  createReversedStep(ScanOp scan, mlir::func::FuncOp callee,
                     llvm::ArrayRef<int64_t> wrt,
                     llvm::ArrayRef<int64_t> seeded);

  mlir::SymbolTable &symbols;
  GetVjp getVjp;
  /// What a scan called before it saved its carries.
  llvm::DenseMap<mlir::Operation *, mlir::func::FuncOp> calleeOf;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, mlir::func::FuncOp>
      saving;
};

} // namespace neoflow::autodiff

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_DIFFERENTIATESCAN_H
