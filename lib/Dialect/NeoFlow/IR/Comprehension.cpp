// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and checks shared by compute and scatter.

#include "Comprehension.h"

#include "neoflow/Index/Domain.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSet.h"

using namespace neoflow;
using namespace neoflow::comprehension;

ArrayAttr
comprehension::getIndexNames(Builder &builder,
                             ArrayRef<OpAsmParser::Argument> indices) {
  SmallVector<StringRef> names;
  for (const OpAsmParser::Argument &index : indices)
    names.push_back(index.ssaName.name.drop_front());
  return builder.getStrArrayAttr(names);
}

ParseResult comprehension::parseFrom(OpAsmParser &parser,
                                     ComprehensionHead &head) {
  if (failed(parser.parseOptionalKeyword("from")))
    return success();
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        OpAsmParser::Argument argument;
        OpAsmParser::UnresolvedOperand operand;
        if (parser.parseOperand(argument.ssaName))
          return failure();
        operand = argument.ssaName;
        // A result group (%0#1) has no single name to bind; it needs its own.
        if (succeeded(parser.parseOptionalEqual())) {
          if (parser.parseOperand(operand))
            return failure();
        } else if (operand.number != 0) {
          return parser.emitError(operand.location)
                 << "expected a name for " << operand.name << "#"
                 << operand.number << ", as in '%x = " << operand.name << "#"
                 << operand.number << "'";
        }
        if (parser.parseColonType(argument.type) ||
            parser.resolveOperand(operand, argument.type, head.inputOperands))
          return failure();
        head.inputs.push_back(argument);
        return success();
      });
}

/// One affine constraint; sides may both be expressions.
static ParseResult parseConstraint(OpAsmParser &parser,
                                   const ComprehensionHead &head,
                                   AffineExpr &constraint, bool &isEquality) {
  auto parseSide = [&](AffineExpr &side) -> ParseResult {
    SmallVector<OpAsmParser::UnresolvedOperand> dims, symbols;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseAffineExprOfSSAIds(dims, symbols, side))
      return failure();
    Builder &builder = parser.getBuilder();
    auto resolve = [&](ArrayRef<OpAsmParser::UnresolvedOperand> ids,
                       SmallVectorImpl<AffineExpr> &exprs) -> ParseResult {
      for (const OpAsmParser::UnresolvedOperand &id : ids) {
        const auto *index = llvm::find_if(head.indices, [&](const auto &i) {
          return i.ssaName.name == id.name;
        });
        if (index != head.indices.end()) {
          exprs.push_back(
              builder.getAffineDimExpr(index - head.indices.begin()));
          continue;
        }
        unsigned symbol = 0;
        bool found = false;
        for (const OpAsmParser::Argument &input : head.inputs) {
          if (input.ssaName.name == id.name && input.type.isIndex()) {
            exprs.push_back(builder.getAffineSymbolExpr(symbol));
            found = true;
            break;
          }
          symbol += input.type.isIndex();
        }
        if (!found)
          return parser.emitError(id.location.isValid() ? id.location : loc)
                 << id.name << " is neither an index nor an index symbol";
      }
      return success();
    };
    SmallVector<AffineExpr> dimExprs, symbolExprs;
    if (resolve(dims, dimExprs) || resolve(symbols, symbolExprs))
      return failure();
    side = side.replaceDimsAndSymbols(dimExprs, symbolExprs);
    return success();
  };
  AffineExpr lhs, rhs;
  if (parseSide(lhs))
    return failure();
  isEquality = false;
  bool less = false;
  if (succeeded(parser.parseOptionalEqual())) {
    isEquality = true;
    if (parser.parseEqual())
      return failure();
  } else if (succeeded(parser.parseOptionalLess())) {
    less = true;
    if (parser.parseEqual())
      return failure();
  } else if (parser.parseGreater() || parser.parseEqual()) {
    return failure();
  }
  if (parseSide(rhs))
    return failure();
  constraint = less ? rhs - lhs : lhs - rhs;
  return success();
}

ParseResult comprehension::parseWhere(OpAsmParser &parser,
                                      const ComprehensionHead &head,
                                      OperationState &result) {
  if (failed(parser.parseOptionalKeyword("where")))
    return success();
  Builder &builder = parser.getBuilder();
  unsigned numSymbols = llvm::count_if(
      head.inputs, [](const auto &i) { return i.type.isIndex(); });
  SmallVector<Attribute> sets;
  do {
    SmallVector<AffineExpr> constraints;
    SmallVector<bool> equalities;
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
          bool isEquality;
          AffineExpr constraint;
          if (parseConstraint(parser, head, constraint, isEquality))
            return failure();
          constraints.push_back(constraint);
          equalities.push_back(isEquality);
          return success();
        }))
      return failure();
    if (constraints.empty())
      return parser.emitError(parser.getCurrentLocation(),
                              "expected at least one constraint");
    sets.push_back(IntegerSetAttr::get(IntegerSet::get(
        head.indices.size(), numSymbols, constraints, equalities)));
  } while (succeeded(parser.parseOptionalKeyword("or")));
  result.addAttribute("where", builder.getArrayAttr(sets));
  return success();
}

ParseResult comprehension::parseLiteral(OpAsmParser &parser, Attribute &value) {
  Builder &builder = parser.getBuilder();
  SMLoc loc = parser.getCurrentLocation();
  bool negative = succeeded(parser.parseOptionalMinus());
  if (negative && succeeded(parser.parseOptionalMinus()))
    return parser.emitError(loc, "expected a number after '-'");
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword,
                                            {"inf", "nan", "true", "false"}))) {
    if (keyword == "true" || keyword == "false") {
      if (negative)
        return parser.emitError(loc, "expected a number after '-'");
      value = builder.getI64IntegerAttr(keyword == "true");
      return success();
    }
    const llvm::fltSemantics &f64 = llvm::APFloat::IEEEdouble();
    llvm::APFloat special = keyword == "inf"
                                ? llvm::APFloat::getInf(f64, negative)
                                : llvm::APFloat::getNaN(f64);
    value = FloatAttr::get(builder.getF64Type(), special);
    return success();
  }
  llvm::APInt integer; // Its magnitude: that of the smallest i64 needs 65 bits.
  OptionalParseResult isInteger = parser.parseOptionalInteger(integer);
  if (isInteger.has_value()) {
    if (failed(*isInteger))
      return failure();
    if (negative)
      integer.negate();
    if (!integer.isSignedIntN(64))
      return parser.emitError(loc, "expected an integer of 64 bits");
    value = builder.getI64IntegerAttr(integer.getSExtValue());
    return success();
  }
  double number;
  if (parser.parseFloat(number))
    return failure();
  value = builder.getF64FloatAttr(negative ? -number : number);
  return success();
}

TypedAttr comprehension::convertLiteral(Attribute literal, Type type) {
  Builder builder(type.getContext());
  if (auto number = dyn_cast<FloatAttr>(literal)) {
    auto floatType = dyn_cast<FloatType>(type);
    if (!floatType)
      return {};
    llvm::APFloat value = number.getValue();
    bool losesInfo;
    value.convert(floatType.getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return FloatAttr::get(type, value);
  }
  auto number = dyn_cast<IntegerAttr>(literal);
  if (!number)
    return {};
  if (auto floatType = dyn_cast<FloatType>(type))
    return FloatAttr::get(
        type, static_cast<double>(number.getValue().getSExtValue()));
  auto integerType = dyn_cast<IntegerType>(type);
  if (!integerType)
    return {};
  llvm::APInt value = number.getValue();
  if (number.getType().isInteger(1))
    value = value.zext(64);
  unsigned width = integerType.getWidth();
  int64_t wide = value.getSExtValue();
  if (width == 1 ? (wide != 0 && wide != 1)
                 : (width < 64 && !llvm::isIntN(width, wide)))
    return {};
  return IntegerAttr::get(type, llvm::APInt(width, wide, /*isSigned=*/true,
                                            /*implicitTrunc=*/true));
}

void comprehension::printLiteral(OpAsmPrinter &printer, Attribute literal) {
  if (auto number = dyn_cast<FloatAttr>(literal)) {
    const llvm::APFloat &value = number.getValue();
    if (value.isInfinity()) {
      printer << (value.isNegative() ? "-inf" : "inf");
      return;
    }
    if (value.isNaN()) {
      printer << "nan";
      return;
    }
    // Literals are read as f64, which holds every f16, bf16 and f32 exactly.
    llvm::APFloat wide = value;
    bool losesInfo;
    wide.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    printer.printAttributeWithoutType(
        FloatAttr::get(Float64Type::get(literal.getContext()), wide));
    return;
  }
  printer.printAttributeWithoutType(literal);
}

void comprehension::printFrom(OpAsmPrinter &printer, Region &body,
                              unsigned numIndices, ValueRange inputs) {
  if (inputs.empty())
    return;
  Block &block = body.front();
  auto nameOf = [&](Value value) {
    std::string name;
    llvm::raw_string_ostream os(name);
    printer.printOperand(value, os);
    return name;
  };
  llvm::StringSet<> taken;
  for (BlockArgument argument : block.getArguments())
    taken.insert(nameOf(argument));
  for (Operation &op : block)
    for (Value result : op.getResults())
      taken.insert(nameOf(result));
  SmallVector<Value> shadows(numIndices);
  llvm::StringSet<> shadowed;
  for (auto [argument, operand] :
       llvm::zip(block.getArguments().drop_front(numIndices), inputs)) {
    std::string outer = nameOf(operand);
    bool own = nameOf(argument) == outer;
    bool clear = outer.find('#') == std::string::npos &&
                 (own || !taken.contains(outer)) &&
                 shadowed.insert(outer).second;
    shadows.push_back(clear ? operand : Value());
  }
  printer.shadowRegionArgs(body, shadows);
  printer << " from (";
  llvm::interleaveComma(
      llvm::seq<unsigned>(0, inputs.size()), printer, [&](unsigned i) {
        BlockArgument argument = block.getArgument(numIndices + i);
        printer << argument;
        if (!shadows[numIndices + i])
          printer << " = " << inputs[i];
        printer << ": " << inputs[i].getType();
      });
  printer << ")";
}

void comprehension::printWhere(OpAsmPrinter &printer, ArrayAttr where,
                               Block *body, unsigned numIndices) {
  if (!where)
    return;
  SmallVector<Value> dims(body->getArguments().take_front(numIndices));
  SmallVector<Value> symbols;
  for (BlockArgument argument : body->getArguments().drop_front(numIndices))
    if (argument.getType().isIndex())
      symbols.push_back(argument);
  llvm::interleave(
      getSets(where), printer,
      [&](IntegerSet set) {
        printer << (set == getSets(where).front() ? " where (" : "(");
        for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
          if (i)
            printer << ", ";
          printer.printAffineExprOfSSAIds(set.getConstraint(i), dims, symbols);
          printer << (set.isEq(i) ? " == 0" : " >= 0");
        }
        printer << ")";
      },
      " or ");
}

/// Whether `expr` is affine and divides by positive constants only.
static bool isAffine(AffineExpr expr) {
  bool valid = expr.isPureAffine();
  expr.walk([&](AffineExpr sub) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(sub);
    if (!binary || sub.getKind() == AffineExprKind::Add ||
        sub.getKind() == AffineExprKind::Mul)
      return;
    auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    valid &= divisor && divisor.getValue() > 0;
  });
  return valid;
}

LogicalResult comprehension::verifySubscripts(Operation *op, AffineMap map,
                                              ValueRange operands) {
  // comprehension_c9
  if (map.getNumSymbols() != 0 || map.getNumDims() != operands.size())
    return op->emitOpError("expected a map over ")
           << operands.size() << " dimensions and no symbols";
  // comprehension_c10
  if (!llvm::all_of(map.getResults(), isAffine))
    return op->emitOpError("expected affine subscripts with floordiv, ceildiv "
                           "and mod by positive constants");
  return success();
}

LogicalResult comprehension::verifyHead(Operation *op, Block *body,
                                        ValueRange inputs,
                                        ArrayRef<int64_t> extents,
                                        ArrayAttr where, ArrayAttr names) {
  unsigned numIndices = extents.size();
  // comprehension_c1
  if (body->getNumArguments() != numIndices + inputs.size())
    return op->emitOpError("expected ")
           << numIndices + inputs.size()
           << " block arguments (indices, then inputs), but got "
           << body->getNumArguments();
  for (BlockArgument index : body->getArguments().take_front(numIndices))
    if (!index.getType().isIndex())
      return op->emitOpError("expected block argument ")
             << index.getArgNumber() << " to be an index, but got "
             << index.getType();
  for (auto [argument, input] :
       llvm::zip(body->getArguments().drop_front(numIndices), inputs)) {
    if (argument.getType() != input.getType())
      return op->emitOpError("expected block argument ")
             << argument.getArgNumber() << " to have the type of its input, "
             << input.getType() << ", but got " << argument.getType();
    // comprehension_c2
    Type type = argument.getType();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor ? !isSupportedElementType(tensor.getElementType())
               : !(type.isIndex() || isSupportedElementType(type)))
      return op->emitOpError("expected inputs to be ranked tensors or scalars "
                             "of f16, bf16, f32, f64, i1, i8, i32 or i64, or "
                             "index symbols, but got ")
             << type;
  }
  // comprehension_c3
  for (int64_t extent : extents)
    if (extent < 0 && !ShapedType::isDynamic(extent))
      return op->emitOpError("expected extents of at least 0, but got ")
             << extent;
  // comprehension_c4
  if (names && names.size() != numIndices)
    return op->emitOpError("expected ")
           << numIndices << " index names, but got " << names.size();
  // comprehension_c5
  unsigned numSymbols = llvm::count_if(
      inputs, [](Value input) { return input.getType().isIndex(); });
  if (where) {
    if (where.empty())
      return op->emitOpError("expected 'where' to hold at least one set");
    for (Attribute attribute : where) {
      auto set = dyn_cast<IntegerSetAttr>(attribute);
      if (!set || set.getValue().getNumDims() != numIndices ||
          (set.getValue().getNumSymbols() != 0 &&
           set.getValue().getNumSymbols() != numSymbols))
        return op->emitOpError("expected 'where' to hold integer sets over ")
               << numIndices << " indices and " << numSymbols << " symbols";
      if (!llvm::all_of(set.getValue().getConstraints(), isAffine))
        return op->emitOpError("expected affine constraints in 'where', with "
                               "floordiv, ceildiv and mod by positive "
                               "constants");
    }
    // comprehension_c6: can only be decided once every extent is known.
    bool known = numSymbols == 0 && !ShapedType::isDynamicShape(extents);
    if (where.size() > 1 && known) {
      index::Domain domain{SmallVector<int64_t>(extents), getSets(where)};
      if (!index::areDisjoint(domain))
        return op->emitOpError("expected the sets of 'where' to be disjoint");
    }
  }
  return success();
}

LogicalResult comprehension::verifyBodyOps(Operation *op, Block *body) {
  for (Operation &inner : *body) {
    // comprehension_c7
    bool allowed =
        isa<ReadOp, RandomOp, YieldOp, affine::AffineApplyOp>(inner) ||
        (inner.getNumRegions() == 0 && isMemoryEffectFree(&inner) &&
         isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             inner.getDialect()));
    if (!allowed)
      return op->emitOpError("expected only reads, random numbers, arith, math "
                             "and affine.apply in the body, but got '")
             << inner.getName() << "'";
    // comprehension_c8
    if (!isa<YieldOp>(inner))
      for (Type type : inner.getResultTypes())
        if (isa<ShapedType>(type))
          return inner.emitOpError("expected a scalar result in the body of '")
                 << op->getName() << "', but got " << type;
  }
  return success();
}

void comprehension::nameIndices(Block *body, unsigned numIndices,
                                ArrayAttr names, OpAsmSetValueNameFn setName) {
  for (unsigned i = 0; i < numIndices && i < body->getNumArguments(); ++i)
    setName(body->getArgument(i), getIndexName(names, i));
  for (BlockArgument input : body->getArguments().drop_front(
           std::min<unsigned>(numIndices, body->getNumArguments())))
    setName(input, "in");
}

std::string comprehension::getIndexName(ArrayAttr names, unsigned position) {
  if (names && position < names.size())
    return cast<StringAttr>(names[position]).str();
  return "i" + std::to_string(position);
}

SmallVector<IntegerSet> comprehension::getSets(ArrayAttr where) {
  SmallVector<IntegerSet> sets;
  if (where)
    for (Attribute set : where)
      sets.push_back(cast<IntegerSetAttr>(set).getValue());
  return sets;
}
