// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions, workloads, and the contract of kernels.

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace neoflow;

std::optional<int64_t> neoflow::getCoefficient(AffineExpr expr, unsigned dim) {
  if (auto dimExpr = dyn_cast<AffineDimExpr>(expr))
    return dimExpr.getPosition() == dim ? 1 : 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || !expr.isFunctionOfDim(dim))
    return 0;
  if (expr.getKind() == AffineExprKind::Add) {
    std::optional<int64_t> lhs = getCoefficient(binary.getLHS(), dim);
    std::optional<int64_t> rhs = getCoefficient(binary.getRHS(), dim);
    if (lhs && rhs)
      return *lhs + *rhs;
    return std::nullopt;
  }
  if (expr.getKind() == AffineExprKind::Mul)
    if (auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      if (std::optional<int64_t> lhs = getCoefficient(binary.getLHS(), dim))
        return *lhs * factor.getValue();
  return std::nullopt;
}

AffineExpr neoflow::linearize(AffineMap map, ArrayRef<int64_t> shape) {
  AffineExpr position = getAffineConstantExpr(0, map.getContext());
  for (auto [expr, extent] : llvm::zip(map.getResults(), shape))
    position = position * extent + expr;
  return position;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// The indices that `value` depends on, through any operations of the body.
static llvm::SmallBitVector indicesOf(Value value, ComputeOp compute) {
  unsigned numIndices = compute.getNumIndices();
  llvm::SmallBitVector used(numIndices);
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      if (argument.getArgNumber() < numIndices)
        used.set(argument.getArgNumber());
      continue;
    }
    Operation *op = current.getDefiningOp();
    if (seen.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  }
  return used;
}

std::optional<Contraction> neoflow::matchContraction(ComputeOp compute) {
  if (compute.getNumResults() != 1 || compute.getKind() != ReductionKind::sum ||
      !compute.getInits().empty() || compute.getDomainSets().size() > 1)
    return std::nullopt;
  Type acc = compute.getAccumulatorType();
  if (!acc.isF32() && !acc.isF64())
    return std::nullopt;
  auto product =
      compute.getYield().getValues().front().getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  Contraction result;
  result.left = product.getLhs();
  result.right = product.getRhs();
  llvm::SmallBitVector inLeft = indicesOf(result.left, compute);
  llvm::SmallBitVector inRight = indicesOf(result.right, compute);
  unsigned numParallel = compute.getNumParallel();
  // Vectors run along the innermost index of the result that one factor has
  // alone.
  for (int i = numParallel - 1; i >= 0; --i) {
    if (inLeft.test(i) == inRight.test(i))
      continue;
    if (inLeft.test(i)) {
      std::swap(result.left, result.right);
      std::swap(inLeft, inRight);
    }
    break;
  }
  SmallVector<int64_t> extents = compute.getStaticExtents();
  int64_t m = 1, n = 1, k = 1;
  for (unsigned i = 0; i < extents.size(); ++i) {
    if (i >= numParallel) {
      result.roles.push_back(ContractionRole::reduction);
      k *= extents[i];
    } else if (inLeft.test(i) && inRight.test(i)) {
      result.roles.push_back(ContractionRole::batch);
    } else if (inRight.test(i)) {
      result.roles.push_back(ContractionRole::right);
      n *= extents[i];
    } else {
      result.roles.push_back(ContractionRole::left);
      m *= extents[i];
    }
  }
  if (m < 3 || n < 4 || k < 2)
    return std::nullopt;
  // A constraint masks one factor; it must not couple left and right.
  for (IntegerSet set : compute.getDomainSets()) {
    for (AffineExpr constraint : set.getConstraints()) {
      bool left = false, right = false;
      for (unsigned i = 0; i < extents.size(); ++i) {
        if (!constraint.isFunctionOfDim(i))
          continue;
        left |= result.roles[i] == ContractionRole::left;
        right |= result.roles[i] == ContractionRole::right;
      }
      if (left && right)
        return std::nullopt;
      result.maskLeft.push_back(!right);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult neoflow::verifyKernel(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *first = &body.front();
  if (isa<ScatterOp>(first)) {
    if (first->getNextNode() != body.getTerminator())
      return first->emitOpError("expected to stand alone in its kernel");
    return success();
  }
  for (Operation &op : body.without_terminator()) {
    auto compute = dyn_cast<ComputeOp>(op);
    if (!compute)
      return op.emitOpError("expected to stand alone in its kernel");
    if (compute.getNumResults() != 1 &&
        (&op != first || compute.getKind() == ReductionKind::none))
      return compute.emitOpError("expected several results only of a reduction "
                                 "that comes first in its kernel");
    if (!compute.hasStaticExtents())
      return compute.emitOpError("expected static extents; run "
                                 "neoflow-specialize first");
    for (Value input : compute.getInputs())
      if (input.getType().isIndex())
        return compute.emitOpError("expected no index symbols; run "
                                   "neoflow-specialize first");
    if (&op == first)
      continue;
    auto shape = cast<RankedTensorType>(compute.getResult(0).getType());
    auto common = cast<RankedTensorType>(first->getResult(0).getType());
    if (shape.getShape() != common.getShape())
      return compute.emitOpError("expected the shape of the kernel's first "
                                 "compute, ")
             << common << ", but got " << shape;
    if (compute.getKind() != ReductionKind::none)
      return compute.emitOpError("expected a reduction only in the first "
                                 "compute of a kernel");
    for (ReadOp read : compute.getBody().getOps<ReadOp>()) {
      Value bound =
          compute.getBoundOperand(cast<BlockArgument>(read.getTensor()));
      if (isa<BlockArgument>(bound))
        continue;
      std::optional<AffineMap> map = getSubscriptsOverIndices(read);
      if (!map || !map->isIdentity())
        return read.emitOpError("expected to read a value of its kernel at "
                                "the indices themselves");
    }
  }
  return success();
}

static int64_t product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

/// Positions of the right indices, innermost first, that follow each other in
/// every read of the right factor; only those are one run.
static int64_t getRightRun(ComputeOp compute, const Contraction &contraction,
                           ArrayRef<int64_t> extents) {
  SmallVector<unsigned> right;
  for (unsigned i = 0; i < contraction.roles.size(); ++i)
    if (contraction.roles[i] == ContractionRole::right)
      right.push_back(i);
  int64_t run = extents[right.back()];
  for (unsigned i = right.size() - 1; i > 0; --i) {
    unsigned inner = right[i], outer = right[i - 1];
    if (inner != outer + 1)
      break;
    for (ReadOp read : compute.getBody().getOps<ReadOp>()) {
      std::optional<AffineMap> map = getSubscriptsOverIndices(read);
      if (!map)
        return run;
      AffineExpr address = linearize(
          *map, cast<RankedTensorType>(read.getTensor().getType()).getShape());
      std::optional<int64_t> a = getCoefficient(address, outer);
      std::optional<int64_t> b = getCoefficient(address, inner);
      if (!a || !b || *a != *b * extents[inner])
        return run;
    }
    run *= extents[outer];
  }
  return run;
}

/// The reads that `value` depends on.
static SmallVector<ReadOp> readsOf(Value value) {
  SmallVector<ReadOp> reads;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    llvm::append_range(worklist, op->getOperands());
    if (auto read = dyn_cast<ReadOp>(op))
      reads.push_back(read);
  }
  return reads;
}

/// Whether the element that `read` names moves by one with index `i`.
static bool isContiguousAlong(ReadOp read, unsigned i) {
  std::optional<AffineMap> map = getSubscriptsOverIndices(read);
  return map &&
         getCoefficient(
             linearize(
                 *map,
                 cast<RankedTensorType>(read.getTensor().getType()).getShape()),
             i) == 1;
}

static void setContiguity(Workload &workload, ComputeOp compute,
                          const Contraction &contraction) {
  unsigned innerRight = 0;
  for (unsigned i = 0; i < compute.getNumParallel(); ++i)
    if (contraction.roles[i] == ContractionRole::right)
      innerRight = i;
  unsigned innerReduction = compute.getNumIndices() - 1;
  auto areContiguous = [](Value factor, unsigned i) {
    return llvm::all_of(readsOf(factor), [&](ReadOp read) {
      return isContiguousAlong(read, i);
    });
  };
  workload.rightIsContiguous = areContiguous(contraction.right, innerRight);
  workload.reductionIsContiguous =
      areContiguous(contraction.left, innerReduction) &&
      areContiguous(contraction.right, innerReduction);
}

Workload neoflow::getWorkload(KernelOp kernel) {
  Workload workload;
  Operation *first = &kernel.getBody().front().front();
  auto compute = dyn_cast<ComputeOp>(first);
  if (!compute) {
    workload.family = Family::scatter;
    return workload;
  }
  SmallVector<int64_t> extents = compute.getStaticExtents();
  unsigned numParallel = compute.getNumParallel();
  ArrayRef<int64_t> parallel = ArrayRef(extents).take_front(numParallel);
  ArrayRef<int64_t> reduction = ArrayRef(extents).drop_front(numParallel);
  // The widest type decides the lanes, so that no vector exceeds its registers.
  int64_t bits = 32;
  for (auto inner : kernel.getBody().getOps<ComputeOp>())
    for (unsigned i = 0; i < inner.getNumResults(); ++i)
      bits = std::max<int64_t>(
          bits, inner.getAccumulatorType(i).getIntOrFloatBitWidth());
  workload.elementBytes = bits / 8;
  workload.parallelPoints = product(parallel);
  workload.reductionPoints = product(reduction);
  workload.innerParallel = parallel.empty() ? 1 : parallel.back();
  workload.innerReduction = reduction.empty() ? 1 : reduction.back();
  if (compute.getKind() == ReductionKind::none) {
    workload.family = Family::elementwise;
    return workload;
  }
  if (std::optional<Contraction> contraction = matchContraction(compute)) {
    workload.family = Family::contraction;
    workload.k = workload.reductionPoints;
    workload.rightRun = getRightRun(compute, *contraction, extents);
    setContiguity(workload, compute, *contraction);
    for (auto [extent, role] : llvm::zip(extents, contraction->roles)) {
      if (role == ContractionRole::left)
        workload.m *= extent;
      else if (role == ContractionRole::right)
        workload.n *= extent;
      else if (role == ContractionRole::batch)
        workload.batch *= extent;
    }
    return workload;
  }
  workload.family = Family::reduction;
  workload.isOrdered = compute.getKind() == ReductionKind::combine;
  for (ReadOp read : compute.getBody().getOps<ReadOp>()) {
    if (numParallel > 0)
      workload.contiguousParallel += isContiguousAlong(read, numParallel - 1);
    if (!reduction.empty())
      workload.contiguousReduction +=
          isContiguousAlong(read, extents.size() - 1);
  }
  return workload;
}

int64_t neoflow::getFlops(KernelOp kernel) {
  int64_t flops = 0;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    SmallVector<int64_t> extents;
    if (auto compute = dyn_cast<ComputeOp>(op))
      extents = compute.getStaticExtents();
    else
      extents = SmallVector<int64_t>(cast<ScatterOp>(op).getIndexExtents());
    int64_t perPoint = 0;
    for (Operation &inner : op.getRegion(0).front())
      perPoint += inner.getNumResults() == 1 &&
                  isa<FloatType>(inner.getResult(0).getType()) &&
                  isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                      inner.getDialect()) &&
                  !isa<arith::ConstantOp, arith::SelectOp>(inner);
    if (auto compute = dyn_cast<ComputeOp>(op))
      perPoint += compute.getNumReduction() > 0;
    flops += perPoint * product(extents);
  }
  return flops;
}

int64_t neoflow::getBytes(KernelOp kernel) {
  int64_t bytes = 0;
  auto add = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    bytes += (tensor ? tensor.getNumElements() : 1) * ((bits + 7) / 8);
  };
  for (Type type : kernel.getArgumentTypes())
    add(type);
  for (Type type : kernel.getResultTypes())
    add(type);
  return bytes;
}
