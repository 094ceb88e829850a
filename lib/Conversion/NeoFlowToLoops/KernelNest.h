// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel as loops see it: one box of dimensions for all its computes, flat
// addresses into flat buffers, and the tests that guard them. Adjacent
// dimensions that every address treats as one are joined.

#ifndef NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_KERNELNEST_H
#define NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_KERNELNEST_H

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"

namespace neoflow::loops {

/// `0 <= expr < extent` must be tested at run time.
struct BoundsCheck {
  mlir::AffineExpr expr;
  int64_t extent;
};

/// An element of a buffer, named by a point of the nest. Dimensions of the
/// expressions are those of the nest; symbols are data-dependent subscripts.
struct Access {
  mlir::AffineExpr address;
  llvm::SmallVector<BoundsCheck> checks;
  llvm::SmallVector<mlir::Value> symbols;
};

/// A constraint of a domain over the dimensions of the nest.
struct Constraint {
  mlir::AffineExpr expr;
  bool isEquality;
};

/// The body of a compute or a scatter.
struct Body {
  mlir::Operation *op;
  mlir::Block *block;
  unsigned numIndices;

  Body(ComputeOp compute)
      : op(compute), block(compute.getBodyBlock()),
        numIndices(compute.getNumIndices()) {}
  Body(ScatterOp scatter)
      : op(scatter), block(scatter.getBodyBlock()),
        numIndices(scatter.getNumIndices()) {}

  /// The operand bound to a block argument that is no index. Inputs come first
  /// among the operands of both operations.
  mlir::Value getBoundOperand(mlir::Value argument) const {
    return op->getOperand(
        llvm::cast<mlir::BlockArgument>(argument).getArgNumber() - numIndices);
  }
  bool isIndex(mlir::Value value) const {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    return argument && argument.getOwner() == block &&
           argument.getArgNumber() < numIndices;
  }
};

/// The nest of a kernel: of its computes, or of its scatter.
struct KernelNest {
  KernelOp kernel;
  llvm::SmallVector<ComputeOp> computes;
  /// For a scatter, where the point's value goes; all dimensions are parallel.
  Access target;
  /// Extents of all dimensions: parallel ones, then reductions of the root.
  llvm::SmallVector<int64_t> extents;
  unsigned numParallel = 0;
  /// For each dimension, its contraction role; empty for other families.
  llvm::SmallVector<ContractionRole> roles;
  /// For each read and random number, where it points.
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  /// Flat position of a result element.
  mlir::AffineExpr resultAddress;
  /// For each compute, the sets of its domain.
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<llvm::SmallVector<Constraint>>>
      domains;
  /// The nest dimension of an index of a compute; indices used as values are
  /// never joined with others.
  llvm::SmallVector<mlir::AffineExpr> dimOfIndex;

  ComputeOp root() const { return computes.front(); }
  unsigned getNumDims() const { return extents.size(); }
  /// Points of a range of dimensions.
  int64_t points(unsigned begin, unsigned end) const;
  /// Whether all coordinates and addresses fit 31 bits.
  bool fitsInt32() const;
};

/// Builds the nest of a kernel that satisfies verifyKernel.
KernelNest buildNest(KernelOp kernel,
                     const std::optional<Contraction> &contraction);

} // namespace neoflow::loops

#endif // NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_KERNELNEST_H
