// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions: both factors are evaluated into packed buffers, which absorbs
// strides, padding, domains, gathers and cheap producers; a micro-kernel works
// on the buffers, whatever the operator.
//
// Left, right and reduction indices are linear positions m, n and k in the
// boxes of their dimensions. A workgroup computes a tile of m_tile x n_tile
// elements, a tile of k at a time.

#ifndef NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_CONTRACTION_H
#define NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_CONTRACTION_H

#include "Families.h"

namespace neoflow::loops {

/// One side of the product: the dimensions of its positions, and its factor.
struct Side {
  llvm::SmallVector<unsigned> dims;
  llvm::SmallVector<int64_t> extents;
  int64_t points = 1;
  /// Points of a panel: the register tile's rows or columns.
  int64_t width = 1;
  /// Extents as panels see them: the innermost one may be padded, so that no
  /// panel leaves a run along it.
  llvm::SmallVector<int64_t> paddedExtents;
  int64_t positions = 1;
  mlir::Value factor;
  bool maskedByLeft = false;

  /// Whether the lanes of every panel are consecutive along the innermost
  /// dimension.
  bool panelsAreRuns() const {
    return dims.size() == 1 || paddedExtents.back() % width == 0;
  }
  /// Whether every panel is full of points.
  bool panelsAreWhole() const { return extents.back() % width == 0; }
};

/// The tiles of a contraction and the factors of its points. How factors are
/// packed and multiplied is left to the subclasses.
class ContractionLowering : public FamilyLowering {
public:
  ContractionLowering(const KernelNest &nest, const Schedule &schedule,
                      const Contraction &contraction);

  int64_t getWorkgroups() const override { return batch * mTiles * nTiles; }
  int64_t getWorkspaceBytes() const override;
  void emit(mlir::OpBuilder &builder, mlir::Location loc,
            const KernelFunction &function) const override;

protected:
  /// What the parts of one kernel share while it is emitted.
  struct State {
    mlir::Value packedLeft, packedRight, tile;
    const KernelFunction *function;
    llvm::SmallVector<mlir::Value> batchCoordinates;
    /// First positions and numbers of panels of the workgroup's tile.
    mlir::Value m0, n0, mPanels, nPanels;
    /// The tile of k: outer coordinates, bounds of the run, number of points.
    llvm::SmallVector<mlir::Value> kCoordinates;
    mlir::Value kLower, kUpper, kCount;
  };

  /// Elements of the packed buffer for `tile` positions of a side.
  virtual int64_t packedElements(int64_t tile) const = 0;
  /// Evaluates the factor of `side` at `panels` panels from position `start`
  /// and every point of the tile of k.
  virtual void emitPack(mlir::OpBuilder &builder, mlir::Location loc,
                        const State &s, const Side &side, mlir::Value start,
                        mlir::Value panels, mlir::Value packed) const = 0;
  /// Adds the products of the tile of k to the register tiles in `s.tile`;
  /// `first` (i1): there is nothing in them yet.
  virtual void emitMicroKernels(mlir::OpBuilder &builder, mlir::Location loc,
                                const State &s, mlir::Value first) const = 0;

  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  /// Sets the extents of a side as its panels see them.
  void setPaddedRun(Side &side, int64_t run);
  /// Sets the most points of k that are packed at a time, from `k_tile`;
  /// tiles that are runs of the innermost dimension are multiples of
  /// `multiple`.
  void setTileOfK(int64_t multiple);

  /// Coordinates of a panel that is a run. Returns the number of its points.
  mlir::Value setRunCoordinates(LaneEmitter &lanes, const Side &side,
                                mlir::Value position) const;
  /// Coordinates of any panel; lanes past the end repeat the last point.
  void setClampedCoordinates(LaneEmitter &lanes, const Side &side,
                             mlir::Value position) const;
  /// The same coordinates of a side for all lanes.
  void setUniformCoordinates(LaneEmitter &lanes, const Side &side,
                             mlir::Value position) const;
  void setBatchCoordinates(LaneEmitter &lanes, const State &s) const;

  /// The factor, zero outside the part of the domain that this side masks.
  mlir::Value emitFactor(LaneEmitter &lanes, const Side &side) const;

  /// Position of row `row` of the register tile (mPanel, nPanel) in the tile
  /// buffer. Register tiles lie one after the other.
  mlir::Value tileRow(IndexBuilder &ib, mlir::Value mPanel, mlir::Value nPanel,
                      mlir::Value row) const;

  Side left, right;
  llvm::SmallVector<unsigned> batchDims, kDims;
  llvm::SmallVector<int64_t> batchExtents, kExtents;
  /// The tile of k is a box: whole inner dimensions, a run of `kRun` along
  /// `splitDim`, and single points of the outer ones; `kMax` points at most.
  unsigned splitDim;
  int64_t kInner, kRun, kMax;
  mlir::Type element;

private:
  void emitWorkgroup(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value workgroup, State s) const;
  void emitResults(mlir::OpBuilder &builder, mlir::Location loc,
                   const State &s) const;
  void emitColumn(LaneEmitter &lanes, const State &s, mlir::Value nPanel,
                  mlir::Value valid) const;
  bool isImpliedByTests(const Side &side, const Constraint &constraint) const;

  const Contraction contraction;
  int64_t batch = 1, mTile, nTile, mTiles, nTiles;
  int64_t kOuter, kRuns;
};

/// Panels of positions, with k outermost; the micro-kernel sums outer products.
std::unique_ptr<FamilyLowering>
createOuterProduct(const KernelNest &nest, const Schedule &schedule,
                   const Contraction &contraction);
/// Rows of k, with positions outermost; the micro-kernel sums along the lanes.
std::unique_ptr<FamilyLowering>
createDotProduct(const KernelNest &nest, const Schedule &schedule,
                 const Contraction &contraction);

/// A mask of the first `count` lanes.
LaneValue emitFirstLanes(LaneEmitter &lanes, mlir::Value count);

/// Emits `body(true)` where the condition holds and `body(false)` elsewhere.
void emitIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
            llvm::function_ref<void(bool)> body);

} // namespace neoflow::loops

#endif // NEOFLOW_LIB_CONVERSION_NEOFLOWTOLOOPS_CONTRACTION_H
