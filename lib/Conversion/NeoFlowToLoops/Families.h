// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation of each schedule family, and what the families share.

#ifndef NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_FAMILIES_H
#define NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_FAMILIES_H

#include "LaneEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace neoflow::loops {

/// The function that a kernel becomes: it performs workgroups [begin, end).
struct KernelFunction {
  BufferMap buffers;
  /// The buffer of each result of the kernel.
  llvm::SmallVector<mlir::Value> results;
  mlir::Value begin, end;
  /// A memref of bytes.
  mlir::Value workspace;
};

/// A family's code for one kernel. Sizes are known before anything is emitted.
class FamilyLowering {
public:
  FamilyLowering(const KernelNest &nest, const Schedule &schedule)
      : nest(nest), schedule(schedule) {}
  virtual ~FamilyLowering() = default;

  virtual int64_t getWorkgroups() const = 0;
  virtual int64_t getWorkspaceBytes() const { return 0; }
  /// Emits the workgroups at the insertion point of `builder`.
  virtual void emit(mlir::OpBuilder &builder, mlir::Location loc,
                    const KernelFunction &function) const = 0;

protected:
  const KernelNest &nest;
  const Schedule &schedule;
};

std::unique_ptr<FamilyLowering> createElementwise(const KernelNest &nest,
                                                  const Schedule &schedule);
std::unique_ptr<FamilyLowering> createReduction(const KernelNest &nest,
                                                const Schedule &schedule);
std::unique_ptr<FamilyLowering>
createContraction(const KernelNest &nest, const Schedule &schedule,
                  const Contraction &contraction);
std::unique_ptr<FamilyLowering> createScatter(const KernelNest &nest,
                                              const Schedule &schedule);

//===----------------------------------------------------------------------===//
// Shared pieces
//===----------------------------------------------------------------------===//

/// Arithmetic on index values, with constants folded by the builder.
struct IndexBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value c(int64_t value) const {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) const {
    return mlir::arith::AddIOp::create(builder, loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) const {
    return mlir::arith::SubIOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, int64_t b) const {
    return b == 1
               ? a
               : mlir::arith::MulIOp::create(builder, loc, a, c(b)).getResult();
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) const {
    return mlir::arith::MulIOp::create(builder, loc, a, b);
  }
  mlir::Value div(mlir::Value a, int64_t b) const {
    return b == 1 ? a
                  : mlir::arith::DivUIOp::create(builder, loc, a, c(b))
                        .getResult();
  }
  mlir::Value rem(mlir::Value a, int64_t b) const {
    return mlir::arith::RemUIOp::create(builder, loc, a, c(b));
  }
  mlir::Value min(mlir::Value a, mlir::Value b) const {
    return mlir::arith::MinUIOp::create(builder, loc, a, b);
  }
  mlir::Value less(mlir::Value a, mlir::Value b) const {
    return mlir::arith::CmpIOp::create(builder, loc,
                                       mlir::arith::CmpIPredicate::ult, a, b);
  }
};

/// Emits `for (iv = lower; iv < upper; iv += step)`, with loop-carried values.
scf::ForOp emitFor(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value lower, mlir::Value upper, int64_t step,
                   mlir::ValueRange carried,
                   llvm::function_ref<llvm::SmallVector<mlir::Value>(
                       mlir::Value iv, mlir::ValueRange carried)>
                       body);

/// Emits loops over the box of dimensions [begin, end) of the nest with carried
/// values; `body` gets the coordinates.
llvm::SmallVector<mlir::Value>
emitBox(mlir::OpBuilder &builder, mlir::Location loc,
        llvm::ArrayRef<int64_t> extents, mlir::ValueRange carried,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(
            llvm::ArrayRef<mlir::Value> ivs, mlir::ValueRange carried)>
            body);

/// Coordinates of the linear position `position` in a box.
llvm::SmallVector<mlir::Value> delinearize(mlir::OpBuilder &builder,
                                           mlir::Location loc,
                                           mlir::Value position,
                                           llvm::ArrayRef<int64_t> extents);

/// How the result elements of a kernel are dealt to workgroups: runs of the
/// innermost parallel dimension, several rows or part of one each.
struct RowDistribution {
  RowDistribution(const KernelNest &nest, int64_t chunk, int64_t width);
  int64_t getWorkgroups() const;
  /// Emits the workgroups; `body` is called for blocks of `width` lanes along
  /// the innermost parallel dimension, and of single lanes for the rest.
  void emit(mlir::OpBuilder &builder, mlir::Location loc,
            const KernelFunction &function,
            llvm::function_ref<void(LaneEmitter &)> body) const;

private:
  void emitRow(mlir::OpBuilder &builder, mlir::Location loc,
               const KernelFunction &function,
               llvm::ArrayRef<mlir::Value> outer, mlir::Value lower,
               mlir::Value upper,
               llvm::function_ref<void(LaneEmitter &)> body) const;
  const KernelNest &nest;
  int64_t width, inner, outer, innerChunk, rows;
};

/// Evaluates the epilogues at the current point of `lanes`, given the values of
/// the root's results in their accumulator types, and stores the results of the
/// kernel.
void emitEpilogue(LaneEmitter &lanes, const KernelNest &nest,
                  const KernelFunction &function,
                  llvm::ArrayRef<LaneValue> root, mlir::Value valid = {});

} // namespace neoflow::loops

#endif // NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_FAMILIES_H
