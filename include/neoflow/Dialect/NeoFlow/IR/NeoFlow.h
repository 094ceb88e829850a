// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The neoflow dialect: operations, attributes, enumerations, and the names of
// its discardable attributes.

#ifndef NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOW_H
#define NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOW_H

#include "neoflow/Support/LLVM.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "neoflow/Dialect/NeoFlow/IR/NeoFlowDialect.h.inc"
#include "neoflow/Dialect/NeoFlow/IR/NeoFlowEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "neoflow/Dialect/NeoFlow/IR/NeoFlowAttrs.h.inc"

namespace neoflow {
class YieldOp;
} // namespace neoflow

#define GET_OP_CLASSES
#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h.inc"

namespace neoflow {

/// Discardable attributes of function arguments and results.
namespace attr {
inline constexpr llvm::StringLiteral kParam = "neoflow.param";
inline constexpr llvm::StringLiteral kState = "neoflow.state";
inline constexpr llvm::StringLiteral kInput = "neoflow.input";
inline constexpr llvm::StringLiteral kLabel = "neoflow.label";
inline constexpr llvm::StringLiteral kSeed = "neoflow.seed";
inline constexpr llvm::StringLiteral kStep = "neoflow.step";
inline constexpr llvm::StringLiteral kLearningRate = "neoflow.learning_rate";
inline constexpr llvm::StringLiteral kDims = "neoflow.dims";
inline constexpr llvm::StringLiteral kNoGradient = "neoflow.no_gradient";
/// On an argument with `neoflow.state`: it starts at zero.
inline constexpr llvm::StringLiteral kZeros = "neoflow.zeros";
inline constexpr llvm::StringLiteral kLoss = "neoflow.loss";
inline constexpr llvm::StringLiteral kMetric = "neoflow.metric";
inline constexpr llvm::StringLiteral kNewState = "neoflow.new_state";
/// On a module: default sizes of its named dimensions.
inline constexpr llvm::StringLiteral kDefaultDims = "neoflow.default_dims";
/// On a module: the optimiser that trains it by default. `kLearningRate` on a
/// module is its default learning rate.
inline constexpr llvm::StringLiteral kOptimizer = "neoflow.optimizer";
/// On a compute: its result is stored, never recomputed where it is read. What
/// compares a value with an extremum of it relies on equal bits.
inline constexpr llvm::StringLiteral kMaterialize = "neoflow.materialize";
/// On a function: the symbol of a rule that replaces its derivative.
inline constexpr llvm::StringLiteral kGradient = "neoflow.gradient";
} // namespace attr

/// What the source calls a value at `loc`; empty when it has no name.
llvm::StringRef getSourceName(mlir::Location loc);

/// The type a body works in for elements of `type`: f32 for f16 and bf16,
/// otherwise the type itself.
mlir::Type getComputeType(mlir::Type type);

/// Whether tensors may hold elements of `type`.
bool isSupportedElementType(mlir::Type type);

/// The value a reduction of `kind` starts from, as an attribute of `type`.
mlir::TypedAttr getIdentity(ReductionKind kind, mlir::Type type);

/// The affine subscripts `map(operands)` with every operand that is an index
/// argument of `owner`'s body replaced by the dimension of its position.
/// Returns nothing when an operand is data-dependent. Symbols of the result are
/// the index-typed inputs in order.
std::optional<mlir::AffineMap>
getSubscriptsOverIndices(mlir::AffineMap map, mlir::ValueRange operands,
                         mlir::Block *body, unsigned numIndices);

/// The same for a read in the body of a compute.
std::optional<mlir::AffineMap> getSubscriptsOverIndices(ReadOp read);

} // namespace neoflow

#endif // NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOW_H
