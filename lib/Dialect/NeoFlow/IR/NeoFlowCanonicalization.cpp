// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonicalisation: unused and repeated inputs, constant operands, subscripts,
// copies.

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "neoflow/Index/Domain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace neoflow;

namespace {

/// Whether the body of `op` may still change: a kernel's schedule names parts
/// of its computes by position.
bool mayRewrite(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return !kernel || !kernel.getScheduleAttr();
}

/// Whether `where` refers to index symbols, by their position.
bool usesSymbols(ComputeOp op) {
  return llvm::any_of(op.getDomainSets(),
                      [](IntegerSet set) { return set.getNumSymbols() != 0; });
}

/// Drops inputs that the body does not use and joins repeated ones.
struct PruneInputs : OpRewritePattern<ComputeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ComputeOp op,
                                PatternRewriter &rewriter) const override {
    if (!mayRewrite(op))
      return rewriter.notifyMatchFailure(op, "scheduled");
    unsigned numIndices = op.getNumIndices();
    Block *body = op.getBodyBlock();
    bool keepsSymbols = usesSymbols(op);
    llvm::SmallDenseMap<Value, unsigned> first;
    SmallVector<unsigned> drop;
    for (auto [i, operand] : llvm::enumerate(op.getInputs())) {
      BlockArgument argument = body->getArgument(numIndices + i);
      if (keepsSymbols && operand.getType().isIndex())
        continue;
      auto [it, inserted] = first.try_emplace(operand, numIndices + i);
      if (argument.use_empty()) {
        if (inserted)
          first.erase(it);
        drop.push_back(i);
      } else if (!inserted) {
        rewriter.replaceAllUsesWith(argument, body->getArgument(it->second));
        drop.push_back(i);
      }
    }
    if (drop.empty())
      return rewriter.notifyMatchFailure(op, "every input is used once");
    rewriter.modifyOpInPlace(op, [&] {
      for (unsigned i : llvm::reverse(drop)) {
        op.getInputsMutable().erase(i);
        body->eraseArgument(numIndices + i);
      }
    });
    return success();
  }
};

/// Moves constant scalars, index symbols and splat tensors into the body.
struct FoldConstantInputs : OpRewritePattern<ComputeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ComputeOp op,
                                PatternRewriter &rewriter) const override {
    if (!mayRewrite(op))
      return rewriter.notifyMatchFailure(op, "scheduled");
    unsigned numIndices = op.getNumIndices();
    Block *body = op.getBodyBlock();
    bool changed = false;
    for (auto [i, operand] : llvm::enumerate(op.getInputs())) {
      BlockArgument argument = body->getArgument(numIndices + i);
      Attribute constant;
      if (argument.use_empty() || !matchPattern(operand, m_Constant(&constant)))
        continue;
      rewriter.setInsertionPointToStart(body);
      if (auto splat = dyn_cast<SplatElementsAttr>(constant)) {
        for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
          changed |= succeeded(foldSplat(cast<ReadOp>(user), splat, rewriter));
      } else if (auto scalar = dyn_cast<TypedAttr>(constant);
                 scalar && !isa<ShapedType>(operand.getType())) {
        if (operand.getType().isIndex() && usesSymbols(op))
          continue; // FoldConstantDomain comes first.
        auto inner = arith::ConstantOp::create(rewriter, op.getLoc(), scalar);
        rewriter.replaceAllUsesWith(argument, inner.getResult());
        changed = true;
      }
    }
    return success(changed);
  }

  /// A read of a splat is a constant, unless it may fall on its `else` value.
  static LogicalResult foldSplat(ReadOp read, SplatElementsAttr splat,
                                 PatternRewriter &rewriter) {
    TypedAttr value = splat.getSplatValue<TypedAttr>();
    if (read.getResult().getType() != value.getType())
      return failure(); // Half precision: keep the read, which extends.
    if (read.getOtherwiseAttr() && read.getOtherwiseAttr() != value)
      return failure();
    rewriter.setInsertionPoint(read);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(read, value);
    return success();
  }
};

/// Replaces constant index symbols in `where` by their value.
struct FoldConstantDomain : OpRewritePattern<ComputeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ComputeOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getWhereAttr() || !mayRewrite(op))
      return rewriter.notifyMatchFailure(op, "no domain to fold");
    SmallVector<AffineExpr> symbols;
    for (Value input : op.getInputs()) {
      if (!input.getType().isIndex())
        continue;
      llvm::APInt value;
      if (!matchPattern(input, m_ConstantInt(&value)))
        return rewriter.notifyMatchFailure(op, "a symbol is not constant");
      symbols.push_back(rewriter.getAffineConstantExpr(value.getSExtValue()));
    }
    if (symbols.empty() || !usesSymbols(op))
      return rewriter.notifyMatchFailure(op, "no symbols");
    SmallVector<Attribute> sets;
    for (IntegerSet set : op.getDomainSets()) {
      SmallVector<AffineExpr> dims;
      for (unsigned i = 0; i < set.getNumDims(); ++i)
        dims.push_back(rewriter.getAffineDimExpr(i));
      sets.push_back(IntegerSetAttr::get(
          set.replaceDimsAndSymbols(dims, symbols, set.getNumDims(), 0)));
    }
    rewriter.modifyOpInPlace(
        op, [&] { op.setWhereAttr(rewriter.getArrayAttr(sets)); });
    return success();
  }
};

/// A compute that copies a tensor is the tensor.
struct FoldIdentity : OpRewritePattern<ComputeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ComputeOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 || op.getKind() != ReductionKind::none ||
        op.getWhereAttr() || isa<KernelOp>(op->getParentOp()))
      return rewriter.notifyMatchFailure(op, "not a plain map");
    auto read = op.getYield().getValues().front().getDefiningOp<ReadOp>();
    if (!read)
      return rewriter.notifyMatchFailure(op, "computes");
    auto argument = cast<BlockArgument>(read.getTensor());
    Value source = op.getBoundOperand(argument);
    std::optional<AffineMap> map = getSubscriptsOverIndices(read);
    if (!map || !map->isIdentity() ||
        source.getType() != op.getResult(0).getType())
      return rewriter.notifyMatchFailure(op, "not a copy");
    rewriter.replaceOp(op, source);
    return success();
  }
};

/// Simplifies subscripts over the ranges of the indices, and drops `else` where
/// it cannot be reached.
struct SimplifyRead : OpRewritePattern<ReadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReadOp op,
                                PatternRewriter &rewriter) const override {
    auto compute = dyn_cast<ComputeOp>(op->getParentOp());
    if (!compute || !mayRewrite(compute))
      return rewriter.notifyMatchFailure(op, "not in an open compute");
    std::optional<AffineMap> map = getSubscriptsOverIndices(op);
    if (!map || map->getNumSymbols() != 0)
      return rewriter.notifyMatchFailure(op, "not over indices alone");
    SmallVector<int64_t> extents = compute.getStaticExtents();
    if (ShapedType::isDynamicShape(extents))
      return rewriter.notifyMatchFailure(op, "dynamic extents");
    SmallVector<AffineExpr> subscripts;
    bool inBounds = op.getOtherwiseAttr() != nullptr;
    auto type = cast<RankedTensorType>(op.getTensor().getType());
    for (auto [dim, expr] : llvm::enumerate(map->getResults())) {
      subscripts.push_back(index::simplifyOver(expr, extents));
      std::optional<index::Range> range =
          index::boxRange(subscripts.back(), extents);
      inBounds &= !type.isDynamicDim(dim) && range && range->min >= 0 &&
                  range->max < type.getDimSize(dim);
    }
    // Keep the operands that are still used, in order of the indices.
    SmallVector<Value> operands;
    SmallVector<AffineExpr> dims(extents.size(),
                                 rewriter.getAffineConstantExpr(0));
    for (unsigned i = 0; i < extents.size(); ++i) {
      if (llvm::none_of(subscripts, [&](AffineExpr expr) {
            return expr.isFunctionOfDim(i);
          }))
        continue;
      dims[i] = rewriter.getAffineDimExpr(operands.size());
      operands.push_back(compute.getBodyBlock()->getArgument(i));
    }
    for (AffineExpr &expr : subscripts)
      expr = expr.replaceDims(dims);
    AffineMap simple =
        AffineMap::get(operands.size(), 0, subscripts, op.getContext());
    if (simple == op.getMap() && !inBounds)
      return rewriter.notifyMatchFailure(op, "simple already");
    rewriter.replaceOpWithNewOp<ReadOp>(op, op.getTensor(), simple, operands,
                                        inBounds ? TypedAttr()
                                                 : op.getOtherwiseAttr());
    return success();
  }
};

} // namespace

void ComputeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns
      .add<PruneInputs, FoldConstantInputs, FoldConstantDomain, FoldIdentity>(
          context);
}

void ReadOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<SimplifyRead>(context);
}
