// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building the nest of a kernel, and joining its dimensions.

#include "KernelNest.h"

#include "neoflow/Index/Domain.h"

#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::loops;

int64_t KernelNest::points(unsigned begin, unsigned end) const {
  int64_t result = 1;
  for (unsigned i = begin; i < end; ++i)
    result *= extents[i];
  return result;
}

bool KernelNest::fitsInt32() const {
  constexpr int64_t limit = int64_t(1) << 30;
  auto within = [&](AffineExpr expr) {
    std::optional<index::Range> range = index::boxRange(expr, extents);
    return !range || (range->min > -limit && range->max < limit);
  };
  if (points(0, numParallel) >= limit ||
      points(numParallel, getNumDims()) >= limit || !within(resultAddress))
    return false;
  for (const auto &[op, access] : accesses) {
    // Data-dependent subscripts are tested in their full width.
    if (!access.symbols.empty() || !within(access.address))
      return false;
    for (const BoundsCheck &check : access.checks)
      if (!within(check.expr))
        return false;
  }
  for (const auto &[op, sets] : domains)
    for (ArrayRef<Constraint> set : sets)
      for (const Constraint &constraint : set)
        if (!within(constraint.expr))
          return false;
  return true;
}

/// The subscripts of `op` over nest dimensions, with data-dependent operands as
/// symbols.
static AffineMap getSubscripts(AffineMap map, ValueRange operands,
                               const Body &body,
                               SmallVectorImpl<Value> &symbols) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims;
  for (Value operand : operands) {
    if (body.isIndex(operand)) {
      dims.push_back(getAffineDimExpr(
          cast<BlockArgument>(operand).getArgNumber(), context));
      continue;
    }
    dims.push_back(getAffineSymbolExpr(symbols.size(), context));
    symbols.push_back(operand);
  }
  return map.replaceDimsAndSymbols(dims, {}, body.numIndices, symbols.size());
}

/// The position named by `map` in a tensor of `shape`. Subscripts that may
/// leave it are tested when `guarded`.
static Access buildAccess(AffineMap map, ValueRange operands,
                          ArrayRef<int64_t> shape, bool guarded,
                          const Body &body, ArrayRef<int64_t> extents) {
  Access access;
  map = getSubscripts(map, operands, body, access.symbols);
  for (auto [expr, extent] : llvm::zip(map.getResults(), shape)) {
    bool dataDependent = false;
    expr.walk(
        [&](AffineExpr sub) { dataDependent |= isa<AffineSymbolExpr>(sub); });
    if (!dataDependent) {
      std::optional<index::Range> range =
          index::boxRange(expr, extents.take_front(body.numIndices));
      if (!range || (range->min >= 0 && range->max < extent))
        continue;
    }
    if (guarded)
      access.checks.push_back({expr, extent});
  }
  access.address = linearize(map, shape);
  return access;
}

/// Fills in the accesses and the domain of one body.
static void addBody(KernelNest &nest, const Body &body, ArrayAttr where) {
  for (Operation &op : *body.block) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      // A read that is in range only under `where` is tested like one with an
      // `else` value: lanes outside the domain must not touch memory.
      nest.accesses[&op] = buildAccess(
          read.getMap(), read.getIndices(),
          cast<RankedTensorType>(read.getTensor().getType()).getShape(),
          read.getOtherwiseAttr() || where, body, nest.extents);
    } else if (auto random = dyn_cast<RandomOp>(op)) {
      nest.accesses[&op] =
          buildAccess(random.getMap(), random.getIndices(), random.getShape(),
                      /*guarded=*/false, body, nest.extents);
    }
  }
  auto &sets = nest.domains[body.op];
  if (!where)
    return;
  for (IntegerSet set : where.getAsValueRange<IntegerSetAttr>()) {
    auto &constraints = sets.emplace_back();
    for (unsigned i = 0; i < set.getNumConstraints(); ++i)
      constraints.push_back({set.getConstraint(i), set.isEq(i)});
  }
}

/// Whether index `i` of `compute` occurs in the body other than in subscripts.
static bool isUsedAsValue(ComputeOp compute, unsigned i) {
  return llvm::any_of(
      compute.getBodyBlock()->getArgument(i).getUsers(),
      [](Operation *user) { return !isa<ReadOp, RandomOp>(user); });
}

/// Replaces every dimension of the nest by an expression over new ones.
static void replaceDims(KernelNest &nest, ArrayRef<AffineExpr> replacement) {
  auto replace = [&](AffineExpr &expr) {
    expr = expr.replaceDims(replacement);
  };
  replace(nest.resultAddress);
  for (auto &[op, access] : nest.accesses) {
    replace(access.address);
    for (BoundsCheck &check : access.checks)
      replace(check.expr);
  }
  for (auto &[op, sets] : nest.domains)
    for (auto &set : sets)
      for (Constraint &constraint : set)
        replace(constraint.expr);
  for (AffineExpr &expr : nest.dimOfIndex)
    replace(expr);
}

/// Joins dimension i with i + 1 wherever every expression allows it.
static void joinDims(KernelNest &nest) {
  MLIRContext *context = nest.kernel.getContext();
  auto allowsJoin = [&](AffineExpr address, unsigned i) {
    std::optional<int64_t> outer = getCoefficient(address, i);
    std::optional<int64_t> inner = getCoefficient(address, i + 1);
    return outer && inner && *outer == *inner * nest.extents[i + 1];
  };
  auto isRigid = [&](unsigned dim) {
    for (auto &[op, access] : nest.accesses)
      for (const BoundsCheck &check : access.checks)
        if (check.expr.isFunctionOfDim(dim))
          return true;
    for (auto &[op, sets] : nest.domains)
      for (ArrayRef<Constraint> set : sets)
        for (const Constraint &constraint : set)
          if (constraint.expr.isFunctionOfDim(dim))
            return true;
    return false;
  };
  // Dimensions whose index is used as a value keep their meaning.
  SmallVector<bool> pinned(nest.getNumDims());
  for (ComputeOp compute : nest.computes)
    for (unsigned i = 0; i < compute.getNumIndices(); ++i)
      pinned[i] = pinned[i] || isUsedAsValue(compute, i);

  for (unsigned i = 0; i + 1 < nest.getNumDims();) {
    bool joins = i + 1 != nest.numParallel && !pinned[i] && !pinned[i + 1] &&
                 !isRigid(i) && !isRigid(i + 1) &&
                 (nest.roles.empty() || nest.roles[i] == nest.roles[i + 1]);
    joins = joins && allowsJoin(nest.resultAddress, i) &&
            llvm::all_of(nest.accesses, [&](auto &entry) {
              return allowsJoin(entry.second.address, i);
            });
    if (!joins) {
      ++i;
      continue;
    }
    // dim i becomes dim i + 1 of extent e_i * e_{i+1}; later dims move down.
    SmallVector<AffineExpr> replacement;
    for (unsigned d = 0; d < nest.getNumDims(); ++d)
      replacement.push_back(d == i
                                ? getAffineConstantExpr(0, context)
                                : getAffineDimExpr(d > i ? d - 1 : d, context));
    replaceDims(nest, replacement);
    nest.extents[i] *= nest.extents[i + 1];
    nest.extents.erase(nest.extents.begin() + i + 1);
    pinned.erase(pinned.begin() + i + 1);
    if (!nest.roles.empty())
      nest.roles.erase(nest.roles.begin() + i + 1);
    if (i + 1 < nest.numParallel)
      --nest.numParallel;
  }
}

/// A result of rank 0 has one point: gives it a dimension to iterate.
static void addUnitDim(KernelNest &nest) {
  MLIRContext *context = nest.kernel.getContext();
  SmallVector<AffineExpr> shift;
  for (unsigned d = 0; d < nest.getNumDims(); ++d)
    shift.push_back(getAffineDimExpr(d + 1, context));
  replaceDims(nest, shift);
  nest.extents.insert(nest.extents.begin(), 1);
  if (!nest.roles.empty())
    nest.roles.insert(nest.roles.begin(), ContractionRole::left);
  nest.numParallel = 1;
}

KernelNest loops::buildNest(KernelOp kernel,
                            const std::optional<Contraction> &contraction) {
  KernelNest nest;
  nest.kernel = kernel;
  MLIRContext *context = kernel.getContext();
  Operation *first = &kernel.getBody().front().front();
  if (auto scatter = dyn_cast<ScatterOp>(first)) {
    nest.extents = SmallVector<int64_t>(scatter.getIndexExtents());
    nest.numParallel = nest.getNumDims();
    for (unsigned i = 0; i < nest.getNumDims(); ++i)
      nest.dimOfIndex.push_back(getAffineDimExpr(i, context));
    addBody(nest, scatter, scatter.getWhereAttr());
    YieldOp yield = scatter.getYield();
    nest.target = buildAccess(
        *yield.getMap(), yield.getIndices(),
        cast<RankedTensorType>(scatter.getResult().getType()).getShape(),
        /*guarded=*/true, scatter, nest.extents);
    nest.resultAddress = getAffineConstantExpr(0, context);
    return nest;
  }
  for (ComputeOp compute : kernel.getBody().getOps<ComputeOp>())
    nest.computes.push_back(compute);
  nest.extents = nest.root().getStaticExtents();
  nest.numParallel = nest.root().getNumParallel();
  if (contraction)
    nest.roles = contraction->roles;
  for (unsigned i = 0; i < nest.getNumDims(); ++i)
    nest.dimOfIndex.push_back(getAffineDimExpr(i, context));
  auto type = cast<RankedTensorType>(nest.root().getResult(0).getType());
  nest.resultAddress =
      linearize(AffineMap::getMultiDimIdentityMap(nest.numParallel, context),
                type.getShape());
  for (ComputeOp compute : nest.computes)
    addBody(nest, compute, compute.getWhereAttr());
  joinDims(nest);
  if (nest.numParallel == 0)
    addUnitDim(nest);
  return nest;
}
