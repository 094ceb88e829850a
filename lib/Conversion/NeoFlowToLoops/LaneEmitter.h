// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates bodies of computes for several points at once. A lane is a point;
// coordinates are the same for all lanes, or consecutive, or a vector.

#ifndef NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_LANEEMITTER_H
#define NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_LANEEMITTER_H

#include "KernelNest.h"

namespace neoflow::loops {

/// An integer for every lane: `uniform + varying[lane]`, or
/// `uniform + stride * lane` when `varying` is null.
struct LaneIndex {
  /// Of type index.
  mlir::Value uniform;
  int64_t stride = 0;
  mlir::Value varying;

  bool isUniform() const { return !varying && stride == 0; }
  bool isStrided() const { return !varying; }
};

/// A value of the body: a scalar that all lanes share, or a vector.
struct LaneValue {
  mlir::Value value;
  bool isVector = false;
};

/// Where tensors live: flat memrefs of the element type (i8 for i1).
using BufferMap = llvm::DenseMap<mlir::Value, mlir::Value>;

class LaneEmitter {
public:
  /// Emits for `width` lanes at the builder's insertion point. `buffers` maps
  /// arguments of the kernel to memrefs.
  LaneEmitter(mlir::OpBuilder &builder, mlir::Location loc,
              const KernelNest &nest, const BufferMap &buffers, int64_t width);

  /// The coordinates of the lanes, one for each dimension of the nest;
  /// reductions may be missing where only epilogues are evaluated.
  llvm::SmallVector<LaneIndex> coordinates;

  /// Values of computes of the kernel at the current point, which epilogues
  /// read.
  llvm::DenseMap<mlir::Value, LaneValue> results;

  /// Lanes that may touch memory, the first ones; null: all of them.
  LaneValue active;

  /// Reads whose addresses are known to be consecutive at run time.
  llvm::SmallPtrSet<mlir::Operation *, 4> contiguous;

  LaneIndex constant(int64_t value);
  LaneIndex evaluate(mlir::AffineExpr expr,
                     llvm::ArrayRef<LaneIndex> symbols = {});

  /// The data-dependent subscripts of an access.
  llvm::SmallVector<LaneIndex> symbolsOf(const Access &access,
                                         const Body &body);

  /// Whether every check of an access holds (null value: always).
  LaneValue emitChecks(const Access &access, llvm::ArrayRef<LaneIndex> symbols);

  /// All lanes of `index` as a vector of lane integers (a scalar index for one
  /// lane).
  mlir::Value materialize(const LaneIndex &index);

  /// `value` for all lanes: unchanged for a single lane.
  mlir::Value broadcast(const LaneValue &value);

  /// The value of `root`, an SSA value of `body`. Earlier
  /// results are reused until the coordinates change; call reset() then.
  LaneValue emit(mlir::Value root, const Body &body);
  void reset() { values.clear(); }

  /// Whether the lanes lie in the domain of `body` (null value: all of
  /// them). `select` picks constraints of the only set; all by default.
  LaneValue emitDomain(const Body &body,
                       llvm::function_ref<bool(unsigned)> select = {});

  /// The combine region of `compute` on accumulators `a` and `b`, one value for
  /// each result, vectors unless there is a single lane.
  llvm::SmallVector<mlir::Value>
  emitCombiner(ComputeOp compute, mlir::ValueRange a, mlir::ValueRange b);

  /// The element of `compute` at the current point, for a compute without
  /// reduction: `else` outside its domain, in the storage type's compute type.
  LaneValue emitElement(ComputeOp compute);

  /// `condition ? value : otherwise`, over lanes.
  LaneValue select(LaneValue condition, LaneValue value, LaneValue otherwise);

  /// Elements of `buffer` as they are stored; `otherwise` (default: zero) where
  /// `mask` (default: nowhere) is false. Masked lanes touch no memory.
  LaneValue emitLoad(mlir::Value buffer, const LaneIndex &address,
                     LaneValue mask, mlir::TypedAttr otherwise,
                     bool isContiguous);

  /// Whether the addresses of `op` are consecutive over the lanes; an i1.
  mlir::Value emitIsContiguous(mlir::Operation *op);

  /// Stores `value` to the element at `address` of `buffer`. `valid` lanes from
  /// the first are written; null writes all. Consecutive addresses are found at
  /// compile time, or at run time for vectors of coordinates.
  void store(LaneValue value, mlir::Value buffer, mlir::AffineExpr address,
             mlir::Value valid = {});

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const int64_t width;
  /// The integer type of varying coordinates.
  mlir::Type laneType;

private:
  LaneValue emitRead(ReadOp read, const Body &body);
  LaneValue emitRandom(RandomOp random, const Body &body);
  LaneValue emitOp(mlir::Operation &op);
  LaneValue emitIndexValue(const LaneIndex &index);
  /// `0 <= index < extent`.
  LaneValue emitInRange(const LaneIndex &index, int64_t extent);
  LaneValue emitCompare(mlir::arith::CmpIPredicate predicate,
                        const LaneIndex &index, int64_t bound);
  LaneValue conjunction(LaneValue a, LaneValue b);
  LaneIndex divide(mlir::AffineExprKind kind, LaneIndex lhs, int64_t divisor,
                   bool nonNegative);
  LaneIndex add(LaneIndex a, LaneIndex b);
  /// Whether the lanes of `index` count up by one; an i1.
  mlir::Value emitIsConsecutive(const LaneIndex &index);
  /// The first lane of `index`, of type index.
  mlir::Value emitFirst(const LaneIndex &index);
  mlir::Value intConstant(mlir::Type type, int64_t value);
  mlir::Value iota();

  const KernelNest &nest;
  const BufferMap &buffers;
  llvm::DenseMap<mlir::Value, LaneValue> values;
};

/// `type` for `width` lanes.
mlir::Type laneVector(mlir::Type type, int64_t width);

/// The type in which elements of `type` are stored in memory.
mlir::Type getStorageType(mlir::Type type);

/// Combines two values of a reduction.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    ReductionKind kind, mlir::Value a, mlir::Value b);

} // namespace neoflow::loops

#endif // NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_LANEEMITTER_H
