// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neoflow.compute: syntax, building and verification. The labels compute_cN
// name the constraints of docs/Spec.md.

#include "Comprehension.h"

#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;

//===----------------------------------------------------------------------===//
// Accessors and building
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ComputeOp::getStaticExtents() {
  SmallVector<int64_t> extents(
      cast<RankedTensorType>(getResult(0).getType()).getShape());
  llvm::append_range(extents, getReductionExtents());
  return extents;
}

SmallVector<IntegerSet> ComputeOp::getDomainSets() {
  return comprehension::getSets(getWhereAttr());
}

Type ComputeOp::getAccumulatorType(unsigned result) {
  if (ArrayAttr acc = getAccAttr())
    return cast<TypeAttr>(acc[result]).getValue();
  return getComputeType(getElementTypeOrSelf(getResult(result).getType()));
}

YieldOp ComputeOp::getYield() {
  return cast<YieldOp>(getBodyBlock()->getTerminator());
}

std::string ComputeOp::getIndexName(unsigned position) {
  return comprehension::getIndexName(getIndexNamesAttr(), position);
}

void ComputeOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  if (&region == &getBody() && !region.empty() && getNumResults() > 0)
    comprehension::nameIndices(&region.front(), getNumIndices(),
                               getIndexNamesAttr(), setName);
}

void ComputeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  // A name of its own keeps results apart from the numbered values of bodies,
  // so that bodies can show the names of the tensors they read.
  StringRef name = getSourceName(getLoc());
  for (Value result : getResults())
    setName(result, name.empty() ? "val" : name);
}

void ComputeOp::build(OpBuilder &builder, OperationState &state,
                      RankedTensorType type, ValueRange inputs,
                      ReductionKind kind, ArrayRef<int64_t> reductionExtents,
                      ArrayRef<std::string> indexNames,
                      ArrayRef<IntegerSet> domain, TypedAttr otherwise) {
  state.addOperands(inputs);
  state.addTypes(type);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(inputs.size()), 0, 0};
  properties.reduction_extents = builder.getDenseI64ArrayAttr(reductionExtents);
  properties.kinds =
      builder.getArrayAttr(ReductionKindAttr::get(builder.getContext(), kind));
  properties.ties = TiesAttr::get(builder.getContext(), Ties::share);
  SmallVector<StringRef> names(indexNames.begin(), indexNames.end());
  properties.index_names = builder.getStrArrayAttr(names);
  if (!domain.empty()) {
    SmallVector<Attribute> sets;
    for (IntegerSet set : domain)
      sets.push_back(IntegerSetAttr::get(set));
    properties.where = builder.getArrayAttr(sets);
  }
  if (otherwise)
    properties.otherwise = builder.getArrayAttr(otherwise);
  Region *body = state.addRegion();
  state.addRegion();
  Block &block = body->emplaceBlock();
  for (unsigned i = 0; i < type.getRank() + reductionExtents.size(); ++i)
    block.addArgument(builder.getIndexType(), state.location);
  for (Value input : inputs)
    block.addArgument(input.getType(), state.location);
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// `(%a, %b = 16, %c = %extent)`: extents must be absent for parallel indices
/// unless dynamic.
static ParseResult
parseIndices(OpAsmParser &parser, bool reduction,
             SmallVectorImpl<OpAsmParser::Argument> &indices,
             SmallVectorImpl<int64_t> &extents,
             SmallVectorImpl<OpAsmParser::UnresolvedOperand> &dynamic) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        OpAsmParser::Argument index;
        index.type = parser.getBuilder().getIndexType();
        if (parser.parseOperand(index.ssaName, /*allowResultNumber=*/false))
          return failure();
        indices.push_back(index);
        if (!reduction && failed(parser.parseOptionalEqual()))
          return success();
        if (reduction && parser.parseEqual())
          return failure();
        int64_t extent = 0;
        OptionalParseResult literal = parser.parseOptionalInteger(extent);
        if (literal.has_value()) {
          if (failed(*literal))
            return failure();
          if (!reduction)
            return parser.emitError(index.ssaName.location)
                   << "the extent of parallel index " << index.ssaName.name
                   << " is given by the result type";
          extents.push_back(extent);
          return success();
        }
        extents.push_back(ShapedType::kDynamic);
        return parser.parseOperand(dynamic.emplace_back());
      });
}

static ParseResult parseKind(OpAsmParser &parser,
                             SmallVectorImpl<Attribute> &kinds) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ReductionKind> kind = symbolizeReductionKind(keyword);
  if (!kind || *kind == ReductionKind::none)
    return parser.emitError(loc)
           << "expected a reduction kind (sum, prod, max, min, umax, umin, "
              "and, or, combine), but got '"
           << keyword << "'";
  kinds.push_back(
      ReductionKindAttr::get(parser.getBuilder().getContext(), *kind));
  return success();
}

static ParseResult parseLiterals(OpAsmParser &parser,
                                 SmallVectorImpl<Attribute> &values) {
  if (failed(parser.parseOptionalLParen()))
    return comprehension::parseLiteral(parser, values.emplace_back());
  return failure(parser.parseCommaSeparatedList([&] {
    return comprehension::parseLiteral(parser, values.emplace_back());
  }) || parser.parseRParen());
}

ParseResult ComputeOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  comprehension::ComprehensionHead head;
  SmallVector<int64_t> parallelDynamic, reductionExtents;
  SmallVector<OpAsmParser::UnresolvedOperand> extents, inits;
  SmallVector<Type> initTypes;
  SmallVector<Attribute> kinds;
  if (parseIndices(parser, /*reduction=*/false, head.indices, parallelDynamic,
                   extents))
    return failure();

  // Reduction: one kind for all results, or a list.
  if (succeeded(parser.parseOptionalLSquare())) {
    if (parser.parseCommaSeparatedList(
            [&] { return parseKind(parser, kinds); }) ||
        parser.parseRSquare())
      return failure();
  } else {
    StringRef keyword;
    if (succeeded(parser.parseOptionalKeyword(
            &keyword, {"sum", "prod", "max", "min", "umax", "umin", "and", "or",
                       "combine"})))
      kinds.push_back(ReductionKindAttr::get(builder.getContext(),
                                             *symbolizeReductionKind(keyword)));
  }
  bool oneKind = kinds.size() == 1;
  if (!kinds.empty() && parseIndices(parser, /*reduction=*/true, head.indices,
                                     reductionExtents, extents))
    return failure();
  result.addAttribute("index_names",
                      comprehension::getIndexNames(builder, head.indices));

  if (comprehension::parseFrom(parser, head))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("init")) &&
      (parser.parseLParen() || parser.parseOperandList(inits) ||
       parser.parseColonTypeList(initTypes) || parser.parseRParen()))
    return failure();
  if (comprehension::parseWhere(parser, head, result))
    return failure();

  SmallVector<Attribute> otherwise, identity;
  SMLoc otherwiseLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("else")) &&
      parseLiterals(parser, otherwise))
    return failure();
  SMLoc identityLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("identity")) &&
      parseLiterals(parser, identity))
    return failure();
  Ties ties = Ties::share;
  if (succeeded(parser.parseOptionalKeyword("ties"))) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Ties> parsed = symbolizeTies(keyword);
    if (!parsed)
      return parser.emitError(loc)
             << "expected 'share' or 'first', but got '" << keyword << "'";
    ties = *parsed;
  }
  result.addAttribute("ties", TiesAttr::get(builder.getContext(), ties));
  SmallVector<Attribute> acc;
  if (succeeded(parser.parseOptionalKeyword("acc"))) {
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                       [&]() -> ParseResult {
                                         Type type;
                                         if (parser.parseType(type))
                                           return failure();
                                         acc.push_back(TypeAttr::get(type));
                                         return success();
                                       }))
      return failure();
    result.addAttribute("acc", builder.getArrayAttr(acc));
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseArrowTypeList(result.types))
    return failure();

  // Kinds, literals and dynamic extents depend on the result types.
  unsigned numResults = result.types.size();
  if (kinds.empty())
    kinds.assign(numResults, ReductionKindAttr::get(builder.getContext(),
                                                    ReductionKind::none));
  else if (oneKind)
    kinds.resize(numResults, kinds.front());
  result.addAttribute("kinds", builder.getArrayAttr(kinds));
  result.addAttribute("reduction_extents",
                      builder.getDenseI64ArrayAttr(reductionExtents));
  auto typed = [&](SmallVectorImpl<Attribute> &values, StringRef name,
                   StringRef keyword, SMLoc loc, bool storage) -> ParseResult {
    if (values.empty())
      return success();
    if (values.size() != numResults)
      return parser.emitError(loc)
             << "expected one '" << keyword << "' value for each of the "
             << numResults << " results, but got " << values.size();
    for (auto [i, value] : llvm::enumerate(values)) {
      Type type = getElementTypeOrSelf(result.types[i]);
      if (!storage)
        type = i < acc.size() ? cast<TypeAttr>(acc[i]).getValue()
                              : getComputeType(type);
      TypedAttr converted = comprehension::convertLiteral(value, type);
      if (!converted)
        return parser.emitError(loc) << "'" << keyword << "' value " << value
                                     << " does not fit the type " << type;
      value = converted;
    }
    result.addAttribute(name, builder.getArrayAttr(values));
    return success();
  };
  if (typed(otherwise, "otherwise", "else", otherwiseLoc, /*storage=*/true) ||
      typed(identity, "identity", "identity", identityLoc, /*storage=*/false))
    return failure();

  result.addOperands(head.inputOperands);
  if (parser.resolveOperands(inits, initTypes, parser.getCurrentLocation(),
                             result.operands) ||
      parser.resolveOperands(extents, builder.getIndexType(), result.operands))
    return failure();
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(head.inputOperands.size()),
      static_cast<int32_t>(inits.size()), static_cast<int32_t>(extents.size())};

  SmallVector<OpAsmParser::Argument> arguments(head.indices);
  llvm::append_range(arguments, head.inputs);
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments, /*enableNameShadowing=*/true))
    return failure();
  Region *combiner = result.addRegion();
  if (succeeded(parser.parseOptionalKeyword("combine"))) {
    SmallVector<OpAsmParser::Argument> values;
    if (parser.parseArgumentList(values, OpAsmParser::Delimiter::Paren,
                                 /*allowType=*/true) ||
        parser.parseRegion(*combiner, values, /*enableNameShadowing=*/true))
      return failure();
  }
  return success();
}

void ComputeOp::print(OpAsmPrinter &printer) {
  Block *body = getBodyBlock();
  unsigned dynamic = 0;
  printer << " (";
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(getResult(0).getType()).getShape();
  llvm::interleaveComma(llvm::seq<unsigned>(0, getNumParallel()), printer,
                        [&](unsigned i) {
                          printer << body->getArgument(i);
                          if (ShapedType::isDynamic(shape[i]))
                            printer << " = " << getExtents()[dynamic++];
                        });
  printer << ")";
  bool reduces = getKind() != ReductionKind::none || getNumReduction() > 0;
  if (reduces) {
    bool same = llvm::all_equal(getKinds());
    if (same) {
      printer << " " << stringifyReductionKind(getKind());
    } else {
      printer << " [";
      llvm::interleaveComma(getKinds(), printer, [&](Attribute kind) {
        printer << stringifyReductionKind(
            cast<ReductionKindAttr>(kind).getValue());
      });
      printer << "]";
    }
    printer << " (";
    llvm::interleaveComma(
        llvm::enumerate(getReductionExtents()), printer, [&](auto entry) {
          printer << body->getArgument(getNumParallel() + entry.index())
                  << " = ";
          if (ShapedType::isDynamic(entry.value()))
            printer << getExtents()[dynamic++];
          else
            printer << entry.value();
        });
    printer << ")";
  }
  comprehension::printFrom(printer, getBody(), getNumIndices(), getInputs());
  if (!getInits().empty()) {
    printer << " init (" << getInits() << " : ";
    llvm::interleaveComma(getInits().getTypes(), printer);
    printer << ")";
  }
  comprehension::printWhere(printer, getWhereAttr(), body, getNumIndices());
  auto printValues = [&](StringRef keyword, ArrayAttr values) {
    if (!values)
      return;
    printer << " " << keyword << " ";
    if (values.size() > 1)
      printer << "(";
    llvm::interleaveComma(values, printer, [&](Attribute value) {
      comprehension::printLiteral(printer, value);
    });
    if (values.size() > 1)
      printer << ")";
  };
  printValues("else", getOtherwiseAttr());
  printValues("identity", getIdentityAttr());
  if (getTies() != Ties::share)
    printer << " ties " << stringifyTies(getTies());
  if (ArrayAttr acc = getAccAttr()) {
    printer << " acc (";
    llvm::interleaveComma(acc.getAsValueRange<TypeAttr>(), printer);
    printer << ")";
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getDiscardableAttrDictionary().getValue(),
      {"operandSegmentSizes", "reduction_extents", "kinds", "acc", "where",
       "otherwise", "identity", "ties", "index_names"});
  printer.printArrowTypeList(getResultTypes());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  if (!getCombiner().empty()) {
    printer << " combine (";
    llvm::interleaveComma(
        getCombiner().getArguments(), printer,
        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
    printer << ") ";
    printer.printRegion(getCombiner(), /*printEntryBlockArgs=*/false);
  }
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ComputeOp::verify() {
  // compute_c1
  if (getNumResults() == 0)
    return emitOpError("expected at least one result");
  auto first = cast<RankedTensorType>(getResult(0).getType());
  if (first.getRank() > 8)
    return emitOpError("expected results of rank 8 at most, but got rank ")
           << first.getRank();
  for (Type type : getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    // compute_c2
    if (tensor.getShape() != first.getShape())
      return emitOpError(
                 "expected all results to have the same shape, but got ")
             << first << " and " << tensor;
    // compute_c3
    if (!isSupportedElementType(tensor.getElementType()))
      return emitOpError("expected elements of f16, bf16, f32, f64, i1, i8, "
                         "i32 or i64, but got ")
             << tensor.getElementType();
  }
  // compute_c4
  unsigned numDynamic =
      llvm::count_if(getStaticExtents(), ShapedType::isDynamic);
  if (getExtents().size() != numDynamic)
    return emitOpError("expected ")
           << numDynamic << " dynamic extents, but got " << getExtents().size();
  // compute_c5
  if (getKinds().size() != getNumResults())
    return emitOpError("expected one reduction kind for each of the ")
           << getNumResults() << " results, but got " << getKinds().size();
  bool combines = false;
  for (auto [i, attribute] : llvm::enumerate(getKinds())) {
    ReductionKind kind = cast<ReductionKindAttr>(attribute).getValue();
    combines |= kind == ReductionKind::combine;
    // compute_c6
    if (kind == ReductionKind::none && getNumReduction() > 0)
      return emitOpError("expected a reduction kind for result ")
             << i << ", since there are reduction indices";
  }
  // compute_c7
  if (combines && !llvm::all_equal(getKinds()))
    return emitOpError("expected 'combine' for all results or for none");
  if (combines != !getCombiner().empty())
    return emitOpError(combines ? "expected a combine region"
                                : "expected no combine region without the "
                                  "kind 'combine'");
  if (combines != static_cast<bool>(getIdentityAttr()))
    return emitOpError(combines ? "expected 'identity' values for 'combine'"
                                : "expected no 'identity' without the kind "
                                  "'combine'");
  if (combines && getIdentityAttr().size() != getNumResults())
    return emitOpError("expected one 'identity' value for each of the ")
           << getNumResults() << " results, but got "
           << getIdentityAttr().size();
  // compute_c8
  if (ArrayAttr acc = getAccAttr()) {
    if (acc.size() != getNumResults())
      return emitOpError("expected one accumulator type for each of the ")
             << getNumResults() << " results, but got " << acc.size();
    for (auto [i, type] : llvm::enumerate(acc.getAsValueRange<TypeAttr>())) {
      Type element = getElementTypeOrSelf(getResult(i).getType());
      bool bothFloat = isa<FloatType>(type) && isa<FloatType>(element);
      bool bothInteger = isa<IntegerType>(type) && isa<IntegerType>(element);
      if (!isSupportedElementType(type) || !(bothFloat || bothInteger) ||
          type.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
        return emitOpError("expected an accumulator of the kind of ")
               << element << " and at least as wide, but got " << type;
      if (type.isF16() || type.isBF16())
        return emitOpError("expected an accumulator of f32 or wider, but got ")
               << type;
    }
  }
  for (unsigned i = 0; i < getNumResults(); ++i) {
    ReductionKind kind = getKind(i);
    Type acc = getAccumulatorType(i);
    // compute_c9
    bool logical = kind == ReductionKind::and_ || kind == ReductionKind::or_;
    bool isUnsigned =
        kind == ReductionKind::umax || kind == ReductionKind::umin;
    if ((logical || isUnsigned) && !isa<IntegerType>(acc))
      return emitOpError("expected an integer accumulator for '")
             << stringifyReductionKind(kind) << "', but got " << acc;
    // compute_c10
    if (acc.isInteger(1) && kind != ReductionKind::none && !logical &&
        kind != ReductionKind::combine)
      return emitOpError("expected 'and' or 'or' for i1, but got '")
             << stringifyReductionKind(kind)
             << "'; cast the elements to i32 to count them";
    // compute_c11
    if (acc.isInteger(8) &&
        (kind == ReductionKind::sum || kind == ReductionKind::prod))
      return emitOpError("expected an accumulator of i32 or wider for a '")
             << stringifyReductionKind(kind)
             << "' of i8, which overflows; write 'acc (i32)'";
  }
  // compute_c12
  if (!getInits().empty()) {
    if (getInits().getTypes() != getResultTypes())
      return emitOpError("expected 'init' tensors of the result types");
    if (llvm::any_of(getKinds(), [](Attribute kind) {
          return cast<ReductionKindAttr>(kind).getValue() ==
                 ReductionKind::none;
        }))
      return emitOpError("expected no 'init' without a reduction");
  }
  // compute_c13
  bool needsElse = getWhereAttr() && getKind() == ReductionKind::none;
  if (needsElse != static_cast<bool>(getOtherwiseAttr()))
    return emitOpError(needsElse
                           ? "expected an 'else' value for the elements "
                             "outside 'where'"
                           : "expected 'else' only with 'where' and without "
                             "a reduction");
  auto typesFit = [&](ArrayAttr values, bool storage) {
    for (auto [i, value] : llvm::enumerate(values)) {
      Type want = storage ? getElementTypeOrSelf(getResult(i).getType())
                          : getAccumulatorType(i);
      auto typed = dyn_cast<TypedAttr>(value);
      if (!typed || typed.getType() != want)
        return false;
    }
    return true;
  };
  if (ArrayAttr values = getOtherwiseAttr();
      values && (values.size() != getNumResults() || !typesFit(values, true)))
    return emitOpError("expected 'else' values of the element types");
  if (ArrayAttr values = getIdentityAttr(); values && !typesFit(values, false))
    return emitOpError("expected 'identity' values of the accumulator types");
  return comprehension::verifyHead(*this, getBodyBlock(), getInputs(),
                                   getStaticExtents(), getWhereAttr(),
                                   getIndexNamesAttr());
}

/// compute_c14: the yield of the body or of the combine region.
static LogicalResult verifyYield(ComputeOp op, Region &region,
                                 StringRef where) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getMapAttr() || !yield.getIndices().empty())
    return op.emitOpError("expected the ")
           << where << " to end with 'neoflow.yield' without 'at'";
  if (yield.getValues().size() != op.getNumResults())
    return yield.emitOpError("expected ")
           << op.getNumResults() << " values, one for each result, but got "
           << yield.getValues().size();
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value.getType() != op.getAccumulatorType(i))
      return yield.emitOpError("expected value ")
             << i << " to have the accumulator type "
             << op.getAccumulatorType(i) << ", but got " << value.getType();
  return success();
}

LogicalResult ComputeOp::verifyRegions() {
  if (failed(comprehension::verifyBodyOps(*this, getBodyBlock())) ||
      failed(verifyYield(*this, getBody(), "body")))
    return failure();
  if (getCombiner().empty())
    return success();
  // compute_c15
  if (!llvm::hasSingleElement(getCombiner()))
    return emitOpError("expected a combine region of one block");
  Block &block = getCombiner().front();
  unsigned n = getNumResults();
  if (block.getNumArguments() != 2 * n)
    return emitOpError("expected the combine region to take ")
           << n << " accumulators and " << n << " values, but got "
           << block.getNumArguments() << " arguments";
  for (BlockArgument argument : block.getArguments())
    if (argument.getType() != getAccumulatorType(argument.getArgNumber() % n))
      return emitOpError("expected argument ")
             << argument.getArgNumber() << " of the combine region to be "
             << getAccumulatorType(argument.getArgNumber() % n) << ", but got "
             << argument.getType();
  for (Operation &inner : block)
    if (isa<ReadOp, RandomOp>(inner))
      return inner.emitOpError("cannot stand in a combine region");
  if (failed(comprehension::verifyBodyOps(*this, &block)))
    return failure();
  return verifyYield(*this, getCombiner(), "combine region");
}
