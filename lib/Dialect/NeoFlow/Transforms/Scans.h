// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices and stacks as computes, and scans of scans.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_SCANS_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_SCANS_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace neoflow {

/// The part of `stack` with the shape of `type` that begins at `row` of its
/// leading dimension, which `type` may lack.
mlir::Value createSlice(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value stack, mlir::RankedTensorType type,
                        int64_t row);

/// The slices one after the other; the inverse of `createSlice`.
mlir::Value createStack(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::Value> slices,
                        mlir::RankedTensorType type);

/// The types of the arguments that `scan` calls its function with.
llvm::SmallVector<mlir::Type> getStepTypes(ScanOp scan);

/// A private function whose entry block has arguments of these types, at these
/// locations, and no terminator yet.
mlir::func::FuncOp createFunction(mlir::SymbolTable &symbols,
                                  mlir::Location loc, const llvm::Twine &name,
                                  mlir::TypeRange arguments,
                                  llvm::ArrayRef<mlir::Location> locations);

/// The locations of the arguments of `function`.
llvm::SmallVector<mlir::Location>
getArgumentLocations(mlir::func::FuncOp function);

/// Ends `function`, whose results these are.
void finishFunction(mlir::func::FuncOp function, mlir::ValueRange results);

/// Replaces a scan that saves every k-th carry only by a scan over k steps of
/// scans, and one over the steps that are left; returns the new ones. Itself,
/// when it saves every carry.
llvm::SmallVector<ScanOp> splitAtCheckpoints(ScanOp scan,
                                             mlir::SymbolTable &symbols);

} // namespace neoflow

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_SCANS_H
