// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What computes and scatters have in common, and copies of their bodies at
// other indices: the substitution behind differentiation and fusion.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_COMPREHENSIONS_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_COMPREHENSIONS_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/IR/IRMapping.h"

namespace neoflow {

/// A compute or a scatter: indices over a domain, and a body that reads inputs.
struct Comprehension {
  mlir::Operation *op;
  mlir::Block *block;
  unsigned numIndices;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::IntegerSet> domain;

  Comprehension(ComputeOp compute);
  Comprehension(ScatterOp scatter);

  llvm::ArrayRef<mlir::BlockArgument> getIndices() const {
    return block->getArguments().take_front(numIndices);
  }
  llvm::ArrayRef<mlir::BlockArgument> getInputArguments() const {
    return block->getArguments().drop_front(numIndices);
  }
  mlir::ValueRange getInputs() const {
    return op->getOperands().take_front(getInputArguments().size());
  }
  mlir::Value getBoundOperand(mlir::Value argument) const {
    return op->getOperand(
        llvm::cast<mlir::BlockArgument>(argument).getArgNumber() - numIndices);
  }
  YieldOp getYield() const {
    return llvm::cast<YieldOp>(block->getTerminator());
  }
  std::string getIndexName(unsigned position) const;
  llvm::SmallVector<std::string> getIndexNames() const;
};

/// Whether an index is used other than in subscripts.
bool isUsedAsValue(mlir::BlockArgument index);

/// A compute with the accumulators of `like`, and with its identities, ties and
/// combine region where it reduces; the body block is empty. `kinds` holds one
/// reduction kind for each result. Without reduction, points outside `domain`
/// are zero.
ComputeOp createLike(mlir::OpBuilder &builder, mlir::Location loc,
                     ComputeOp like, mlir::TypeRange types,
                     mlir::ValueRange inputs,
                     llvm::ArrayRef<int64_t> reductionExtents,
                     mlir::ArrayAttr kinds,
                     llvm::ArrayRef<mlir::IntegerSet> domain,
                     llvm::ArrayRef<std::string> names);

/// Copies the body of a comprehension to where every index has another value.
class BodyCloner {
public:
  /// Index i of `source` becomes `variables[i]`, whose dimension j is
  /// `operands[j]`. `extents`, when given, bound the operands and simplify
  /// subscripts. The inputs of `source` are to be mapped by the caller.
  BodyCloner(mlir::OpBuilder &builder, const Comprehension &source,
             llvm::ArrayRef<mlir::AffineExpr> variables,
             mlir::ValueRange operands, llvm::ArrayRef<int64_t> extents,
             mlir::IRMapping &mapping)
      : builder(builder), source(source), variables(variables),
        operands(operands), extents(extents), mapping(mapping) {}

  /// The location of the copy of an operation; its own by default.
  std::function<mlir::Location(mlir::Operation *)> locate =
      [](mlir::Operation *op) { return op->getLoc(); };
  /// The `else` value of the copy of a read; its own by default.
  std::function<mlir::TypedAttr(ReadOp)> getOtherwise = [](ReadOp read) {
    return read.getOtherwiseAttr();
  };

  /// Copies everything but the yield; `mapping` then knows every value.
  void clone();

  /// `map` over operands of the source as a map over operands of the copy.
  /// Those that do not occur are dropped.
  mlir::AffineMap substitute(mlir::AffineMap map, mlir::ValueRange mapOperands,
                             llvm::SmallVectorImpl<mlir::Value> &newOperands);

private:
  mlir::OpBuilder &builder;
  const Comprehension &source;
  llvm::ArrayRef<mlir::AffineExpr> variables;
  llvm::SmallVector<mlir::Value> operands;
  llvm::ArrayRef<int64_t> extents;
  mlir::IRMapping &mapping;
};

} // namespace neoflow

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_COMPREHENSIONS_H
