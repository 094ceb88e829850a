// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes and scatters in mathematical notation, for people.

#include "neoflow/Dialect/NeoFlow/Utils/MathText.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace neoflow;

namespace {

/// How tightly the outermost operation of a text binds.
enum Precedence { kChoice, kOr, kAnd, kCompare, kSum, kProduct, kAtom };

struct Text {
  std::string text;
  Precedence precedence = kAtom;

  /// In brackets where it binds less than what is around it.
  std::string within(Precedence around) const {
    return precedence < around ? "(" + text + ")" : text;
  }
};

class MathWriter {
public:
  MathWriter(Operation *op, function_ref<std::string(Value)> nameOf)
      : op(op), block(&op->getRegion(0).front()), nameOf(nameOf) {}

  SmallVector<std::string> write();

private:
  unsigned getNumIndices() {
    if (auto compute = dyn_cast<ComputeOp>(op))
      return compute.getNumIndices();
    return cast<ScatterOp>(op).getNumIndices();
  }
  std::string getIndexName(unsigned i) {
    if (auto compute = dyn_cast<ComputeOp>(op))
      return compute.getIndexName(i);
    return cast<ScatterOp>(op).getIndexName(i);
  }
  std::string getIndices(unsigned first, unsigned last, bool withExtents);
  std::string getWhere();
  std::string getAssigned(unsigned result);

  Text getAffine(AffineExpr expr, ArrayRef<Text> dims, ArrayRef<Text> symbols);
  std::string getConstraint(AffineExpr expr, bool isEquality,
                            ArrayRef<Text> dims, ArrayRef<Text> symbols);
  std::string getSubscripts(AffineMap map, ValueRange operands);
  Text getValue(Value value);
  Text getOperation(Operation *value);
  Text getBinary(Operation *value, StringRef symbol, Precedence precedence);
  std::string getCall(StringRef function, ValueRange operands);

  Operation *op;
  Block *block;
  function_ref<std::string(Value)> nameOf;
  llvm::DenseMap<Value, Text> known;
};

} // namespace

static std::string toText(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    double plain = number.getValueAsDouble();
    if (std::isinf(plain))
      return plain < 0 ? "-inf" : "inf";
    // As few digits as give the same number again.
    char text[32];
    for (int digits = 1; digits <= 17; ++digits) {
      std::snprintf(text, sizeof text, "%.*g", digits, plain);
      llvm::APFloat read(std::strtod(text, nullptr));
      bool losesInfo;
      read.convert(number.getValue().getSemantics(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      if (read.bitwiseIsEqual(number.getValue()))
        break;
    }
    return text;
  }
  if (auto boolean = dyn_cast<BoolAttr>(value))
    return boolean.getValue() ? "true" : "false";
  if (auto number = dyn_cast<IntegerAttr>(value))
    return std::to_string(number.getInt());
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

Text MathWriter::getAffine(AffineExpr expr, ArrayRef<Text> dims,
                           ArrayRef<Text> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {std::to_string(constant.getValue()),
            constant.getValue() < 0 ? kSum : kAtom};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  auto get = [&](AffineExpr e) { return getAffine(e, dims, symbols); };
  auto factor = dyn_cast<AffineConstantExpr>(right);
  switch (expr.getKind()) {
  case AffineExprKind::Add: {
    // A negative term is subtracted.
    auto negated = [&](AffineExpr term) -> std::optional<Text> {
      if (auto constant = dyn_cast<AffineConstantExpr>(term);
          constant && constant.getValue() < 0)
        return Text{std::to_string(-constant.getValue())};
      auto product = dyn_cast<AffineBinaryOpExpr>(term);
      auto scale = product && term.getKind() == AffineExprKind::Mul
                       ? dyn_cast<AffineConstantExpr>(product.getRHS())
                       : AffineConstantExpr();
      if (!scale || scale.getValue() >= 0)
        return std::nullopt;
      return get(product.getLHS() * -scale.getValue());
    };
    if (std::optional<Text> term = negated(right))
      return {get(left).within(kSum) + " - " + term->within(kProduct), kSum};
    if (std::optional<Text> term = negated(left))
      return {get(right).within(kSum) + " - " + term->within(kProduct), kSum};
    return {get(left).within(kSum) + " + " + get(right).within(kSum), kSum};
  }
  case AffineExprKind::Mul:
    if (factor && factor.getValue() == -1)
      return {"-" + get(left).within(kProduct), kSum};
    return {get(right).within(kAtom) + " * " + get(left).within(kProduct),
            kProduct};
  case AffineExprKind::FloorDiv:
    return {get(left).within(kAtom) + " floordiv " + get(right).within(kAtom),
            kProduct};
  case AffineExprKind::CeilDiv:
    return {get(left).within(kAtom) + " ceildiv " + get(right).within(kAtom),
            kProduct};
  default:
    return {get(left).within(kAtom) + " mod " + get(right).within(kAtom),
            kProduct};
  }
}

/// Terms with a minus go to the other side.
std::string MathWriter::getConstraint(AffineExpr expr, bool isEquality,
                                      ArrayRef<Text> dims,
                                      ArrayRef<Text> symbols) {
  AffineExpr zero = getAffineConstantExpr(0, expr.getContext());
  AffineExpr left = zero, right = zero;
  SmallVector<AffineExpr> terms = {expr};
  while (!terms.empty()) {
    AffineExpr term = terms.pop_back_val();
    auto binary = dyn_cast<AffineBinaryOpExpr>(term);
    if (binary && term.getKind() == AffineExprKind::Add) {
      terms.push_back(binary.getRHS());
      terms.push_back(binary.getLHS());
      continue;
    }
    auto constant = dyn_cast<AffineConstantExpr>(
        binary && term.getKind() == AffineExprKind::Mul ? binary.getRHS()
                                                        : term);
    if (constant && constant.getValue() < 0)
      right = right - term;
    else
      left = left + term;
  }
  StringRef relation = isEquality ? " = " : " >= ";
  if (isa<AffineConstantExpr>(left)) {
    std::swap(left, right);
    relation = isEquality ? " = " : " <= ";
  }
  return getAffine(left, dims, symbols).text + relation.str() +
         getAffine(right, dims, symbols).text;
}

std::string MathWriter::getSubscripts(AffineMap map, ValueRange operands) {
  SmallVector<Text> values;
  for (Value operand : operands)
    values.push_back(getValue(operand));
  ArrayRef<Text> dims(values);
  std::string text = "[";
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    text += (i ? ", " : "") + getAffine(expr, dims.take_front(map.getNumDims()),
                                        dims.drop_front(map.getNumDims()))
                                  .text;
  return text + "]";
}

Text MathWriter::getBinary(Operation *value, StringRef symbol,
                           Precedence precedence) {
  auto next = static_cast<Precedence>(std::min(precedence + 1, +kAtom));
  // The right side of a minus or a division needs brackets at equal binding.
  bool associates = symbol == "+" || symbol == "*";
  return {
      getValue(value->getOperand(0)).within(precedence) + " " + symbol.str() +
          " " +
          getValue(value->getOperand(1)).within(associates ? precedence : next),
      precedence};
}

std::string MathWriter::getCall(StringRef function, ValueRange operands) {
  std::string text = function.str() + "(";
  for (auto [i, operand] : llvm::enumerate(operands))
    text += (i ? ", " : "") + getValue(operand).text;
  return text + ")";
}

template <typename Op>
static StringRef getComparison(Op op) {
  // "olt", "slt" and "ult" all mean less.
  return llvm::StringSwitch<StringRef>(
             stringifyEnum(op.getPredicate()).take_back(2))
      .Case("eq", "=")
      .Case("ne", "!=")
      .Case("lt", "<")
      .Case("le", "<=")
      .Case("gt", ">")
      .Case("ge", ">=")
      .Default("");
}

Text MathWriter::getOperation(Operation *value) {
  return llvm::TypeSwitch<Operation *, Text>(value)
      .Case([&](ReadOp read) -> Text {
        std::string text =
            nameOf(read.getTensor()) +
            (read.getMap().getNumResults()
                 ? getSubscripts(read.getMap(), read.getIndices())
                 : "");
        if (TypedAttr otherwise = read.getOtherwiseAttr())
          return {text + " else " + toText(otherwise), kChoice};
        return {text};
      })
      .Case([&](RandomOp random) -> Text {
        return {stringifyEnum(random.getDistribution()).str() +
                getSubscripts(random.getMap(), random.getIndices())};
      })
      .Case<arith::AddFOp, arith::AddIOp>(
          [&](Operation *) { return getBinary(value, "+", kSum); })
      .Case<arith::SubFOp, arith::SubIOp>(
          [&](Operation *) { return getBinary(value, "-", kSum); })
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](Operation *) { return getBinary(value, "*", kProduct); })
      .Case<arith::DivFOp>(
          [&](Operation *) { return getBinary(value, "/", kProduct); })
      .Case<arith::AndIOp>(
          [&](Operation *) { return getBinary(value, "and", kAnd); })
      .Case<arith::OrIOp>(
          [&](Operation *) { return getBinary(value, "or", kOr); })
      .Case([&](arith::NegFOp negate) -> Text {
        return {"-" + getValue(negate.getOperand()).within(kProduct), kSum};
      })
      .Case<arith::CmpFOp, arith::CmpIOp>([&](auto compare) -> Text {
        StringRef symbol = getComparison(compare);
        if (symbol.empty())
          return {getCall(stringifyEnum(compare.getPredicate()),
                          compare->getOperands())};
        return getBinary(value, symbol, kCompare);
      })
      .Case([&](arith::SelectOp select) -> Text {
        return {"if " + getValue(select.getCondition()).within(kOr) + " then " +
                    getValue(select.getTrueValue()).within(kOr) + " else " +
                    getValue(select.getFalseValue()).text,
                kChoice};
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [&](Operation *) -> Text {
            return {getCall("max", value->getOperands())};
          })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [&](Operation *) -> Text {
            return {getCall("min", value->getOperands())};
          })
      .Case<arith::IndexCastOp, arith::SIToFPOp, arith::UIToFPOp, arith::ExtFOp,
            arith::ExtSIOp, arith::ExtUIOp>(
          [&](Operation *) { return getValue(value->getOperand(0)); })
      .Case([&](affine::AffineApplyOp apply) -> Text {
        SmallVector<Text> operands;
        for (Value operand : apply.getMapOperands())
          operands.push_back(getValue(operand));
        AffineMap map = apply.getAffineMap();
        return getAffine(map.getResult(0),
                         ArrayRef(operands).take_front(map.getNumDims()),
                         ArrayRef(operands).drop_front(map.getNumDims()));
      })
      .Default([&](Operation *) -> Text {
        // "math.powf" is pow, "math.absf" abs, "arith.truncf" trunc.
        StringRef name = value->getName().stripDialect();
        if (name.size() > 3 && !isa<math::ErfOp>(value))
          name.consume_back("f");
        return {getCall(name, value->getOperands())};
      });
}

Text MathWriter::getValue(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == block &&
        argument.getArgNumber() < getNumIndices())
      return {getIndexName(argument.getArgNumber())};
    return {nameOf(value)};
  }
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    std::string text = toText(constant);
    return {text, StringRef(text).starts_with("-") ? kSum : kAtom};
  }
  return getOperation(value.getDefiningOp());
}

std::string MathWriter::getIndices(unsigned first, unsigned last,
                                   bool withExtents) {
  SmallVector<int64_t> extents;
  if (auto compute = dyn_cast<ComputeOp>(op))
    extents = compute.getStaticExtents();
  else
    extents.assign(cast<ScatterOp>(op).getIndexExtents().begin(),
                   cast<ScatterOp>(op).getIndexExtents().end());
  std::string text;
  for (unsigned i = first; i < last; ++i) {
    text += (i > first ? ", " : "") + getIndexName(i);
    if (withExtents)
      text += " < " + (ShapedType::isDynamic(extents[i])
                           ? std::string("?")
                           : std::to_string(extents[i]));
  }
  return text;
}

std::string MathWriter::getWhere() {
  SmallVector<IntegerSet> sets;
  if (auto compute = dyn_cast<ComputeOp>(op))
    sets = compute.getDomainSets();
  else
    sets = cast<ScatterOp>(op).getDomainSets();
  SmallVector<Text> dims, symbols;
  for (BlockArgument argument : block->getArguments()) {
    if (argument.getArgNumber() < getNumIndices())
      dims.push_back({getIndexName(argument.getArgNumber())});
    else if (argument.getType().isIndex())
      symbols.push_back({nameOf(argument)});
  }
  std::string text;
  for (IntegerSet set : sets) {
    text += text.empty() ? "where " : " or ";
    for (unsigned i = 0; i < set.getNumConstraints(); ++i)
      text += (i ? " and " : "") +
              getConstraint(set.getConstraint(i), set.isEq(i), dims, symbols);
  }
  return text;
}

/// "y[i] = sum(k < 3) "
std::string MathWriter::getAssigned(unsigned result) {
  std::string name = nameOf(op->getResult(result));
  if (auto scatter = dyn_cast<ScatterOp>(op)) {
    YieldOp yield = scatter.getYield();
    return name + " = " + nameOf(scatter.getDestination()) + "; for (" +
           getIndices(0, getNumIndices(), /*withExtents=*/true) + ") " + name +
           getSubscripts(*yield.getMap(), yield.getIndices()) + " = " +
           stringifyReductionKind(scatter.getKind()).str() + " with ";
  }
  auto compute = cast<ComputeOp>(op);
  std::string indices =
      getIndices(0, compute.getNumParallel(), /*withExtents=*/false);
  std::string text =
      name + (indices.empty() ? "" : "[" + indices + "]") + " = ";
  if (!compute.getInits().empty())
    text += nameOf(compute.getInits()[result]) +
            (indices.empty() ? "" : "[" + indices + "]") + " and ";
  if (compute.getKind(result) != ReductionKind::none)
    text += stringifyReductionKind(compute.getKind(result)).str() + "(" +
            getIndices(compute.getNumParallel(), getNumIndices(),
                       /*withExtents=*/true) +
            ") ";
  return text;
}

SmallVector<std::string> MathWriter::write() {
  SmallVector<std::string> named;
  llvm::StringSet<> taken;
  for (BlockArgument argument : block->getArguments())
    taken.insert(argument.getArgNumber() < getNumIndices()
                     ? getIndexName(argument.getArgNumber())
                     : nameOf(argument));
  unsigned next = 0;
  for (Operation &inner : block->without_terminator()) {
    Value value = inner.getResult(0);
    bool isShort = isa<ReadOp, affine::AffineApplyOp>(inner) ||
                   inner.hasTrait<OpTrait::ConstantLike>() ||
                   (inner.getNumOperands() == 1 &&
                    isa<arith::IndexCastOp, arith::ExtFOp>(inner));
    if (value.hasOneUse() || value.use_empty() || isShort)
      continue;
    Text text = getOperation(&inner);
    std::string name;
    do
      name = "u" + std::to_string(next++);
    while (!taken.insert(name).second);
    named.push_back("    with " + name + " = " + text.text);
    known[value] = {name};
  }
  SmallVector<std::string> lines;
  auto yield = cast<YieldOp>(block->getTerminator());
  std::string where = getWhere();
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    bool reduces = isa<ScatterOp>(op) ||
                   cast<ComputeOp>(op).getKind(i) != ReductionKind::none;
    lines.push_back(getAssigned(i) +
                    getValue(value).within(reduces ? kProduct : kChoice));
  }
  if (!where.empty()) {
    if (auto compute = dyn_cast<ComputeOp>(op))
      if (ArrayAttr otherwise = compute.getOtherwiseAttr())
        where += ", else " + toText(otherwise[0]);
    lines.push_back("    " + where);
  }
  llvm::append_range(lines, named);
  return lines;
}

SmallVector<std::string>
neoflow::getMathText(Operation *op, function_ref<std::string(Value)> nameOf) {
  return MathWriter(op, nameOf).write();
}
