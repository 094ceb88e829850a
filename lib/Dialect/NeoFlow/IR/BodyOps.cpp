// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands in bodies: read, random, yield.

#include "Comprehension.h"

#include "neoflow/Index/Domain.h"

#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;

//===----------------------------------------------------------------------===//
// Subscripts
//===----------------------------------------------------------------------===//

/// Whether `value` is an index argument or an index symbol of `body`.
static bool isAffineOperand(Value value, Block *body) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == body;
}

std::optional<AffineMap>
neoflow::getSubscriptsOverIndices(AffineMap map, ValueRange operands,
                                  Block *body, unsigned numIndices) {
  MLIRContext *context = map.getContext();
  unsigned numSymbols = 0;
  DenseMap<unsigned, unsigned> symbolOf;
  for (BlockArgument argument : body->getArguments().drop_front(numIndices))
    if (argument.getType().isIndex())
      symbolOf[argument.getArgNumber()] = numSymbols++;
  SmallVector<AffineExpr> dims;
  for (Value operand : operands) {
    if (!isAffineOperand(operand, body))
      return std::nullopt;
    unsigned number = cast<BlockArgument>(operand).getArgNumber();
    dims.push_back(number < numIndices
                       ? getAffineDimExpr(number, context)
                       : getAffineSymbolExpr(symbolOf.lookup(number), context));
  }
  return map.replaceDimsAndSymbols(dims, {}, numIndices, numSymbols);
}

std::optional<AffineMap> neoflow::getSubscriptsOverIndices(ReadOp read) {
  auto compute = cast<ComputeOp>(read->getParentOp());
  return getSubscriptsOverIndices(read.getMap(), read.getIndices(),
                                  compute.getBodyBlock(),
                                  compute.getNumIndices());
}

/// `[%p * 2 + %r, ...]`; symbols become dimensions.
static ParseResult parseSubscripts(OpAsmParser &parser, OperationState &result,
                                   SmallVectorImpl<Value> &operands) {
  SmallVector<OpAsmParser::UnresolvedOperand> ids;
  Attribute attribute;
  if (parser.parseAffineMapOfSSAIds(ids, attribute, "map", result.attributes) ||
      parser.resolveOperands(ids, parser.getBuilder().getIndexType(), operands))
    return failure();
  AffineMap map = cast<AffineMapAttr>(attribute).getValue();
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < map.getNumSymbols(); ++i)
    symbols.push_back(
        parser.getBuilder().getAffineDimExpr(map.getNumDims() + i));
  map = map.replaceDimsAndSymbols({}, symbols, ids.size(), 0);
  result.attributes.set("map", AffineMapAttr::get(map));
  return success();
}

static void printSubscripts(OpAsmPrinter &printer, AffineMapAttr map,
                            ValueRange operands) {
  printer << "[";
  printer.printAffineMapOfSSAIds(map, operands);
  printer << "]";
}

/// The comprehension around `op`: its body, extents, domain, and number of
/// indices.
static void getEnclosing(Operation *op, Block *&body,
                         SmallVector<int64_t> &extents,
                         SmallVector<IntegerSet> &sets) {
  if (auto compute = dyn_cast<ComputeOp>(op->getParentOp())) {
    body = compute.getBodyBlock();
    extents = compute.getStaticExtents();
    sets = compute.getDomainSets();
  } else {
    auto scatter = cast<ScatterOp>(op->getParentOp());
    body = scatter.getBodyBlock();
    extents = SmallVector<int64_t>(scatter.getIndexExtents());
    sets = scatter.getDomainSets();
  }
}

//===----------------------------------------------------------------------===//
// ReadOp
//===----------------------------------------------------------------------===//

void ReadOp::build(OpBuilder &builder, OperationState &state, Value tensor,
                   AffineMap map, ValueRange indices, TypedAttr otherwise) {
  build(builder, state, getComputeType(getElementTypeOrSelf(tensor.getType())),
        tensor, indices, AffineMapAttr::get(map), otherwise);
}

ParseResult ReadOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand tensor;
  SmallVector<Value> indices;
  if (parser.parseOperand(tensor) || parseSubscripts(parser, result, indices))
    return failure();
  Attribute otherwise;
  SMLoc otherwiseLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("else")) &&
      comprehension::parseLiteral(parser, otherwise))
    return failure();
  SMLoc typeLoc;
  Type type;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon())
    return failure();
  typeLoc = parser.getCurrentLocation();
  if (parser.parseType(type))
    return failure();
  auto tensorType = dyn_cast<RankedTensorType>(type);
  if (!tensorType)
    return parser.emitError(typeLoc)
           << "expected a ranked tensor type, but got " << type;
  Type element = getComputeType(tensorType.getElementType());
  if (otherwise) {
    TypedAttr converted = comprehension::convertLiteral(otherwise, element);
    if (!converted)
      return parser.emitError(otherwiseLoc)
             << "'else' value " << otherwise << " does not fit the type "
             << element;
    result.addAttribute("otherwise", converted);
  }
  result.addTypes(element);
  if (parser.resolveOperand(tensor, type, result.operands))
    return failure();
  result.addOperands(indices);
  return success();
}

void ReadOp::print(OpAsmPrinter &printer) {
  printer << " " << getTensor();
  printSubscripts(printer, getMapAttr(), getIndices());
  if (Attribute otherwise = getOtherwiseAttr()) {
    printer << " else ";
    comprehension::printLiteral(printer, otherwise);
  }
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue(), {"map", "otherwise"});
  printer << " : " << getTensor().getType();
}

/// read_c4: every affine subscript of a read without `else` stays in range.
static LogicalResult verifyBounds(ReadOp op) {
  Block *body;
  SmallVector<int64_t> extents;
  SmallVector<IntegerSet> sets;
  getEnclosing(op, body, extents, sets);
  if (ShapedType::isDynamicShape(extents))
    return success(); // Decided once the extents are known.
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  unsigned numIndices = extents.size();
  for (auto [dim, expr] : llvm::enumerate(op.getMap().getResults())) {
    // Data-dependent subscripts and symbols have no range here.
    bool affine = true;
    SmallVector<AffineExpr> dims;
    for (auto [i, operand] : llvm::enumerate(op.getIndices())) {
      bool used = expr.isFunctionOfDim(i);
      bool isIndex = isAffineOperand(operand, body) &&
                     cast<BlockArgument>(operand).getArgNumber() < numIndices;
      affine &= !used || isIndex;
      dims.push_back(isIndex ? getAffineDimExpr(
                                   cast<BlockArgument>(operand).getArgNumber(),
                                   op.getContext())
                             : getAffineConstantExpr(0, op.getContext()));
    }
    if (!affine || type.isDynamicDim(dim))
      continue;
    AffineExpr subscript = expr.replaceDims(dims);
    index::Domain domain{extents, sets};
    int64_t extent = type.getDimSize(dim);
    std::optional<index::Range> range = index::boxRange(subscript, extents);
    if (!range || (range->min >= 0 && range->max < extent))
      continue;
    range = index::rangeOver(subscript, domain);
    if (!range || (range->min >= 0 && range->max < extent))
      continue;
    InFlightDiagnostic diagnostic =
        op.emitOpError("subscript ")
        << dim << " is out of bounds: it takes values from " << range->min
        << " to " << range->max << ", but dimension " << dim << " of " << type
        << " has extent " << extent;
    diagnostic.attachNote()
        << "write 'else VALUE' after the subscripts to read VALUE outside the "
           "tensor, or restrict the domain with 'where'";
    return diagnostic;
  }
  return success();
}

LogicalResult ReadOp::verify() {
  auto type = cast<RankedTensorType>(getTensor().getType());
  if (failed(comprehension::verifySubscripts(*this, getMap(), getIndices())))
    return failure();
  // read_c1
  if (getMap().getNumResults() != type.getRank())
    return emitOpError("expected ")
           << type.getRank() << " subscripts for " << type << ", but got "
           << getMap().getNumResults();
  // read_c2
  Type want = getComputeType(type.getElementType());
  if (getResult().getType() != want)
    return emitOpError("expected the result type ")
           << want << ", but got " << getResult().getType();
  if (TypedAttr otherwise = getOtherwiseAttr();
      otherwise && otherwise.getType() != want)
    return emitOpError("expected the 'else' value to be ")
           << want << ", but got " << otherwise.getType();
  // read_c3
  auto argument = dyn_cast<BlockArgument>(getTensor());
  if (!argument || argument.getOwner() != (*this)->getBlock())
    return emitOpError("expected a tensor bound by 'from'");
  if (getOtherwiseAttr())
    return success();
  return verifyBounds(*this);
}

//===----------------------------------------------------------------------===//
// RandomOp
//===----------------------------------------------------------------------===//

ParseResult RandomOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  OpAsmParser::UnresolvedOperand seed, step;
  int64_t stream;
  SmallVector<Value> indices;
  SmallVector<int64_t> shape;
  Type type;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Distribution> distribution = symbolizeDistribution(keyword);
  if (!distribution)
    return parser.emitError(loc)
           << "expected 'uniform' or 'normal', but got '" << keyword << "'";
  result.addAttribute("distribution", DistributionAttr::get(
                                          builder.getContext(), *distribution));
  if (parser.parseLParen() || parser.parseOperand(seed) ||
      parser.parseComma() || parser.parseOperand(step) ||
      parser.parseRParen() || parser.parseKeyword("stream") ||
      parser.parseInteger(stream) || parseSubscripts(parser, result, indices) ||
      parser.parseKeyword("in") ||
      parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Square,
          [&] { return parser.parseInteger(shape.emplace_back()); }) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(seed, builder.getI64Type(), result.operands) ||
      parser.resolveOperand(step, builder.getI64Type(), result.operands))
    return failure();
  result.addAttribute("stream", builder.getI64IntegerAttr(stream));
  result.addAttribute("shape", builder.getDenseI64ArrayAttr(shape));
  result.addOperands(indices);
  result.addTypes(type);
  return success();
}

void RandomOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifyDistribution(getDistribution()) << "(" << getSeed()
          << ", " << getStep() << ") stream " << getStream() << " ";
  printSubscripts(printer, getMapAttr(), getIndices());
  printer << " in [";
  llvm::interleaveComma(getShape(), printer);
  printer << "]";
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue(),
      {"distribution", "stream", "map", "shape"});
  printer << " : " << getResult().getType();
}

LogicalResult RandomOp::verify() {
  if (failed(comprehension::verifySubscripts(*this, getMap(), getIndices())))
    return failure();
  // random_c1
  if (getMap().getNumResults() != getShape().size())
    return emitOpError("expected ")
           << getShape().size() << " subscripts, one for each extent, but got "
           << getMap().getNumResults();
  // random_c2
  for (int64_t extent : getShape())
    if (extent < 0)
      return emitOpError("expected extents of at least 0, but got ") << extent;
  // random_c3
  Block *body;
  SmallVector<int64_t> extents;
  SmallVector<IntegerSet> sets;
  getEnclosing(*this, body, extents, sets);
  for (Value operand : getIndices())
    if (!isAffineOperand(operand, body))
      return emitOpError("expected subscripts of indices and index symbols "
                         "only");
  // random_c4
  int64_t stream = static_cast<int64_t>(getStream());
  if (stream < 0 || stream > std::numeric_limits<uint32_t>::max())
    return emitOpError("expected a stream from 0 to 4294967295, but got ")
           << stream;
  return success();
}

//===----------------------------------------------------------------------===//
// YieldOp
//===----------------------------------------------------------------------===//

ParseResult YieldOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> values;
  SmallVector<Value> indices;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(values))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at")) &&
      parseSubscripts(parser, result, indices))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      (!values.empty() && parser.parseColonTypeList(types)) ||
      parser.resolveOperands(values, types, loc, result.operands))
    return failure();
  result.addOperands(indices);
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(values.size()),
      static_cast<int32_t>(indices.size())};
  return success();
}

void YieldOp::print(OpAsmPrinter &printer) {
  if (!getValues().empty())
    printer << " " << getValues();
  if (AffineMapAttr map = getMapAttr()) {
    printer << " at ";
    printSubscripts(printer, map, getIndices());
  }
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue(),
      {"map", "operandSegmentSizes"});
  if (!getValues().empty())
    printer << " : " << getValues().getTypes();
}
