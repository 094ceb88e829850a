// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neoflow.scatter: syntax and verification.

#include "Comprehension.h"

#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;

SmallVector<IntegerSet> ScatterOp::getDomainSets() {
  return comprehension::getSets(getWhereAttr());
}

YieldOp ScatterOp::getYield() {
  return cast<YieldOp>(getBodyBlock()->getTerminator());
}

std::string ScatterOp::getIndexName(unsigned position) {
  return comprehension::getIndexName(getIndexNamesAttr(), position);
}

void ScatterOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  if (!region.empty())
    comprehension::nameIndices(&region.front(), getNumIndices(),
                               getIndexNamesAttr(), setName);
}

ParseResult ScatterOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  comprehension::ComprehensionHead head;
  SmallVector<int64_t> extents;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ReductionKind> kind = symbolizeReductionKind(keyword);
  if (!kind)
    return parser.emitError(loc)
           << "expected 'sum', 'max' or 'min', but got '" << keyword << "'";
  result.addAttribute("kind",
                      ReductionKindAttr::get(builder.getContext(), *kind));
  if (parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
            OpAsmParser::Argument index;
            index.type = builder.getIndexType();
            if (parser.parseOperand(index.ssaName,
                                    /*allowResultNumber=*/false) ||
                parser.parseEqual() ||
                parser.parseInteger(extents.emplace_back()))
              return failure();
            head.indices.push_back(index);
            return success();
          }))
    return failure();
  result.addAttribute("index_extents", builder.getDenseI64ArrayAttr(extents));
  result.addAttribute("index_names",
                      comprehension::getIndexNames(builder, head.indices));
  OpAsmParser::UnresolvedOperand destination;
  Type type;
  if (comprehension::parseFrom(parser, head) || parser.parseKeyword("into") ||
      parser.parseLParen() || parser.parseOperand(destination) ||
      parser.parseColonType(type) || parser.parseRParen() ||
      comprehension::parseWhere(parser, head, result) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addOperands(head.inputOperands);
  if (parser.resolveOperand(destination, type, result.operands))
    return failure();
  result.addTypes(type);
  SmallVector<OpAsmParser::Argument> arguments(head.indices);
  llvm::append_range(arguments, head.inputs);
  return parser.parseRegion(*result.addRegion(), arguments,
                            /*enableNameShadowing=*/true);
}

void ScatterOp::print(OpAsmPrinter &printer) {
  Block *body = getBodyBlock();
  printer << " " << stringifyReductionKind(getKind()) << " (";
  llvm::interleaveComma(
      llvm::enumerate(getIndexExtents()), printer, [&](auto entry) {
        printer << body->getArgument(entry.index()) << " = " << entry.value();
      });
  printer << ")";
  comprehension::printFrom(printer, getBody(), getNumIndices(), getInputs());
  printer << " into (" << getDestination() << ": " << getDestination().getType()
          << ")";
  comprehension::printWhere(printer, getWhereAttr(), body, getNumIndices());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getDiscardableAttrDictionary().getValue(),
      {"index_extents", "kind", "where", "index_names"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ScatterOp::verify() {
  // scatter_c1
  if (getKind() != ReductionKind::sum && getKind() != ReductionKind::max &&
      getKind() != ReductionKind::min)
    return emitOpError("expected the kind 'sum', 'max' or 'min', but got '")
           << stringifyReductionKind(getKind()) << "'";
  // scatter_c2
  if (getResult().getType() != getDestination().getType())
    return emitOpError("expected the result to have the type of the "
                       "destination, ")
           << getDestination().getType() << ", but got "
           << getResult().getType();
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!isSupportedElementType(type.getElementType()) || !type.hasStaticShape())
    return emitOpError("expected a destination of static shape and elements of "
                       "f16, bf16, f32, f64, i1, i8, i32 or i64, but got ")
           << type;
  return comprehension::verifyHead(*this, getBodyBlock(), getInputs(),
                                   getIndexExtents(), getWhereAttr(),
                                   getIndexNamesAttr());
}

LogicalResult ScatterOp::verifyRegions() {
  if (failed(comprehension::verifyBodyOps(*this, getBodyBlock())))
    return failure();
  // scatter_c3
  auto yield = dyn_cast<YieldOp>(getBodyBlock()->getTerminator());
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!yield || !yield.getMapAttr() || yield.getValues().size() != 1)
    return emitOpError("expected the body to end with 'neoflow.yield' of one "
                       "value and its subscripts, 'at [...]'");
  if (failed(comprehension::verifySubscripts(yield, *yield.getMap(),
                                             yield.getIndices())))
    return failure();
  if (yield.getMap()->getNumResults() != type.getRank())
    return yield.emitOpError("expected ")
           << type.getRank() << " subscripts for " << type << ", but got "
           << yield.getMap()->getNumResults();
  Type want = getComputeType(type.getElementType());
  if (yield.getValues().front().getType() != want)
    return yield.emitOpError("expected a value of ")
           << want << ", but got " << yield.getValues().front().getType();
  return success();
}
