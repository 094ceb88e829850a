// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compute and scatter share: the syntax of indices, bound operands and
// `where`, and the checks on their bodies.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_IR_COMPREHENSION_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_IR_COMPREHENSION_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

namespace neoflow::comprehension {

/// What has been parsed of a comprehension's head so far.
struct ComprehensionHead {
  llvm::SmallVector<mlir::OpAsmParser::Argument> indices;
  llvm::SmallVector<mlir::OpAsmParser::Argument> inputs;
  llvm::SmallVector<mlir::Value> inputOperands;
};

/// Index names as strings, without the percent sign.
mlir::ArrayAttr
getIndexNames(mlir::Builder &builder,
              llvm::ArrayRef<mlir::OpAsmParser::Argument> indices);

/// `from (%x: type, %y = %outer: type)`, optional.
mlir::ParseResult parseFrom(mlir::OpAsmParser &parser, ComprehensionHead &head);

/// `where (constraint, ...) or (...)`, optional; into attribute `where`.
mlir::ParseResult parseWhere(mlir::OpAsmParser &parser,
                             const ComprehensionHead &head,
                             mlir::OperationState &result);

/// A literal of unknown type: number, true, false, inf, -inf, nan.
mlir::ParseResult parseLiteral(mlir::OpAsmParser &parser,
                               mlir::Attribute &value);

/// `literal` as an attribute of `type`; null when it does not fit.
mlir::TypedAttr convertLiteral(mlir::Attribute literal, mlir::Type type);

/// Prints a literal in a form that parseLiteral accepts.
void printLiteral(mlir::OpAsmPrinter &printer, mlir::Attribute literal);

/// Prints ` from (...)` and arranges that block arguments of the body carry the
/// names of the operands bound to them wherever this is unambiguous.
void printFrom(mlir::OpAsmPrinter &printer, mlir::Region &body,
               unsigned numIndices, mlir::ValueRange inputs);

/// Prints ` where (...) or (...)` when there is one.
void printWhere(mlir::OpAsmPrinter &printer, mlir::ArrayAttr where,
                mlir::Block *body, unsigned numIndices);

/// Verifies names, `where` and the types of inputs; `extents` may be dynamic.
mlir::LogicalResult verifyHead(mlir::Operation *op, mlir::Block *body,
                               mlir::ValueRange inputs,
                               llvm::ArrayRef<int64_t> extents,
                               mlir::ArrayAttr where, mlir::ArrayAttr names);

/// Verifies that the body holds only what a body may hold.
mlir::LogicalResult verifyBodyOps(mlir::Operation *op, mlir::Block *body);

/// Verifies the form of `map(operands)`, the subscripts of `op`.
mlir::LogicalResult verifySubscripts(mlir::Operation *op, mlir::AffineMap map,
                                     mlir::ValueRange operands);

/// Names block arguments after `names`.
void nameIndices(mlir::Block *body, unsigned numIndices, mlir::ArrayAttr names,
                 mlir::OpAsmSetValueNameFn setName);

/// The name of index `position`.
std::string getIndexName(mlir::ArrayAttr names, unsigned position);

/// The sets in `where`.
llvm::SmallVector<mlir::IntegerSet> getSets(mlir::ArrayAttr where);

} // namespace neoflow::comprehension

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_IR_COMPREHENSION_H
