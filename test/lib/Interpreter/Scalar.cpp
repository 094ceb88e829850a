// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table from operation names to their meaning.

#include "Scalar.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace neoflow;
using namespace neoflow::test;

using Operands = ArrayRef<Scalar>;

static unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

int64_t neoflow::test::wrap(int64_t value, Type type) {
  unsigned width = widthOf(type);
  if (width == 1)
    return value & 1;
  return width == 64 ? value : llvm::SignExtend64(value, width);
}

/// Operand `i` as a signed number: a true i1 is -1.
static int64_t getSigned(Operation *op, Operands in, unsigned i) {
  return llvm::SignExtend64(in[i].i, widthOf(op->getOperand(i).getType()));
}

/// Operand `i` as an unsigned number.
static uint64_t getUnsigned(Operation *op, Operands in, unsigned i) {
  unsigned width = widthOf(op->getOperand(i).getType());
  return uint64_t(in[i].i) & llvm::maskTrailingOnes<uint64_t>(width);
}

Scalar neoflow::test::fromAttribute(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    llvm::APFloat value = number.getValue();
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return fromFloat(value.convertToDouble());
  }
  auto number = cast<IntegerAttr>(attribute);
  return fromInteger(wrap(number.getValue().getSExtValue(), number.getType()));
}

int64_t neoflow::test::evaluate(AffineExpr expr, ArrayRef<int64_t> dims,
                                ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), dims, symbols);
  int64_t rhs = evaluate(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::Mod:
    return llvm::mod(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  default:
    return llvm::divideCeilSigned(lhs, rhs);
  }
}

static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a; // -0 < +0
  return a > b ? a : b;
}

static double minimum(double a, double b) { return -maximum(-a, -b); }

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  }
  return false;
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b,
                    uint64_t ua, uint64_t ub) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

/// Division in all its forms; those of the smallest number by -1 overflow.
enum class Division { quotient, floor, ceil, remainder };

template <Division kind>
static const char *divideSigned(Operation *op, Operands in, Scalar &out) {
  int64_t a = getSigned(op, in, 0), b = getSigned(op, in, 1);
  Type type = op->getResult(0).getType();
  if (b == 0)
    return "division by zero";
  if (b == -1) {
    // Also where the quotient overflows: it wraps around.
    out.i =
        kind == Division::remainder ? 0 : wrap(int64_t(0 - uint64_t(a)), type);
    return nullptr;
  }
  int64_t value = kind == Division::quotient ? a / b
                  : kind == Division::floor  ? llvm::divideFloorSigned(a, b)
                  : kind == Division::ceil   ? llvm::divideCeilSigned(a, b)
                                             : a % b;
  out.i = wrap(value, type);
  return nullptr;
}

template <Division kind>
static const char *divideUnsigned(Operation *op, Operands in, Scalar &out) {
  uint64_t a = getUnsigned(op, in, 0), b = getUnsigned(op, in, 1);
  if (b == 0)
    return "division by zero";
  uint64_t value = kind == Division::quotient ? a / b
                   : kind == Division::ceil   ? a / b + (a % b != 0)
                                              : a % b;
  out.i = wrap(int64_t(value), op->getResult(0).getType());
  return nullptr;
}

static const char *fromFloatToInteger(Operation *op, double value,
                                      bool isUnsigned, Scalar &out) {
  Type type = op->getResult(0).getType();
  unsigned width = widthOf(type);
  double truncated = std::trunc(value);
  double low = isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsigned ? width : width - 1);
  if (!(truncated >= low && truncated < high))
    return "the value does not fit the integer type";
  out.i = wrap(isUnsigned ? int64_t(uint64_t(truncated)) : int64_t(truncated),
               type);
  return nullptr;
}

static const char *bitcast(Operation *op, Operands in, Scalar &out) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (isa<FloatType>(from) == isa<FloatType>(to)) {
    if (isa<FloatType>(from) && from != to)
      return "bitcasts between float types are not supported";
    out = in[0];
    return nullptr;
  }
  if (from.isF64() || to.isF64()) {
    out = in[0]; // The union holds the same bits.
    return nullptr;
  }
  if (from.isF32())
    out.i = wrap(llvm::bit_cast<int32_t>(float(in[0].f)), to);
  else if (to.isF32())
    out.f = llvm::bit_cast<float>(int32_t(in[0].i));
  else
    return "bitcasts of 16-bit floats are not supported";
  return nullptr;
}

static int64_t integerPower(int64_t base, int64_t exponent) {
  uint64_t result = 1, factor = base;
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return result;
}

namespace {
/// Builds the table. The lambdas capture nothing, so they are plain functions.
struct Table {
  llvm::StringMap<ScalarFunction> functions;

  Table() {
    addFloats();
    addIntegers();
    addConversions();
    addMath();
    addClassification();
  }

#define NEOFLOW_FLOAT1(NAME, EXPR)                                             \
  functions[NAME] = [](Operation *, Operands in,                               \
                       Scalar &out) -> const char * {                          \
    double a = in[0].f;                                                        \
    out.f = EXPR;                                                              \
    return nullptr;                                                            \
  }
#define NEOFLOW_FLOAT2(NAME, EXPR)                                             \
  functions[NAME] = [](Operation *, Operands in,                               \
                       Scalar &out) -> const char * {                          \
    double a = in[0].f, b = in[1].f;                                           \
    out.f = EXPR;                                                              \
    return nullptr;                                                            \
  }
#define NEOFLOW_INTEGER2(NAME, EXPR)                                           \
  functions[NAME] = [](Operation *op, Operands in,                             \
                       Scalar &out) -> const char * {                          \
    int64_t a = getSigned(op, in, 0), b = getSigned(op, in, 1);                \
    uint64_t ua = getUnsigned(op, in, 0), ub = getUnsigned(op, in, 1);         \
    (void)a, (void)b, (void)ua, (void)ub;                                      \
    out.i = wrap(int64_t(EXPR), op->getResult(0).getType());                   \
    return nullptr;                                                            \
  }
#define NEOFLOW_TEST1(NAME, EXPR)                                              \
  functions[NAME] = [](Operation *, Operands in,                               \
                       Scalar &out) -> const char * {                          \
    double a = in[0].f;                                                        \
    out.i = EXPR;                                                              \
    return nullptr;                                                            \
  }
#define NEOFLOW_SHIFT(NAME, EXPR)                                              \
  functions[NAME] = [](Operation *op, Operands in,                             \
                       Scalar &out) -> const char * {                          \
    int64_t a = getSigned(op, in, 0);                                          \
    uint64_t ua = getUnsigned(op, in, 0), ub = getUnsigned(op, in, 1);         \
    (void)a, (void)ua;                                                         \
    if (ub >= widthOf(op->getOperand(0).getType()))                            \
      return "the shift is as wide as the type";                               \
    out.i = wrap(int64_t(EXPR), op->getResult(0).getType());                   \
    return nullptr;                                                            \
  }

  void addFloats() {
    NEOFLOW_FLOAT2("arith.addf", a + b);
    NEOFLOW_FLOAT2("arith.subf", a - b);
    NEOFLOW_FLOAT2("arith.mulf", a * b);
    NEOFLOW_FLOAT2("arith.divf", a / b);
    NEOFLOW_FLOAT2("arith.remf", std::fmod(a, b));
    NEOFLOW_FLOAT1("arith.negf", -a);
    NEOFLOW_FLOAT2("arith.maximumf", maximum(a, b));
    NEOFLOW_FLOAT2("arith.minimumf", minimum(a, b));
    NEOFLOW_FLOAT2("arith.maxnumf", std::fmax(a, b));
    NEOFLOW_FLOAT2("arith.minnumf", std::fmin(a, b));
    functions["arith.cmpf"] = [](Operation *op, Operands in,
                                 Scalar &out) -> const char * {
      out.i = compare(cast<arith::CmpFOp>(op).getPredicate(), in[0].f, in[1].f);
      return nullptr;
    };
    functions["arith.select"] = [](Operation *, Operands in,
                                   Scalar &out) -> const char * {
      out = in[0].i ? in[1] : in[2];
      return nullptr;
    };
    functions["arith.constant"] = [](Operation *op, Operands,
                                     Scalar &out) -> const char * {
      out = fromAttribute(cast<arith::ConstantOp>(op).getValue());
      return nullptr;
    };
  }

  void addIntegers() {
    NEOFLOW_INTEGER2("arith.addi", ua + ub);
    NEOFLOW_INTEGER2("arith.subi", ua - ub);
    NEOFLOW_INTEGER2("arith.muli", ua * ub);
    NEOFLOW_INTEGER2("arith.andi", ua & ub);
    NEOFLOW_INTEGER2("arith.ori", ua | ub);
    NEOFLOW_INTEGER2("arith.xori", ua ^ ub);
    NEOFLOW_INTEGER2("arith.maxsi", a > b ? a : b);
    NEOFLOW_INTEGER2("arith.minsi", a < b ? a : b);
    NEOFLOW_INTEGER2("arith.maxui", ua > ub ? ua : ub);
    NEOFLOW_INTEGER2("arith.minui", ua < ub ? ua : ub);
    NEOFLOW_SHIFT("arith.shli", ua << ub);
    NEOFLOW_SHIFT("arith.shrsi", a >> ub);
    NEOFLOW_SHIFT("arith.shrui", ua >> ub);
    functions["arith.divsi"] = divideSigned<Division::quotient>;
    functions["arith.floordivsi"] = divideSigned<Division::floor>;
    functions["arith.ceildivsi"] = divideSigned<Division::ceil>;
    functions["arith.remsi"] = divideSigned<Division::remainder>;
    functions["arith.divui"] = divideUnsigned<Division::quotient>;
    functions["arith.ceildivui"] = divideUnsigned<Division::ceil>;
    functions["arith.remui"] = divideUnsigned<Division::remainder>;
    functions["arith.cmpi"] = [](Operation *op, Operands in,
                                 Scalar &out) -> const char * {
      out.i = compare(cast<arith::CmpIOp>(op).getPredicate(),
                      getSigned(op, in, 0), getSigned(op, in, 1),
                      getUnsigned(op, in, 0), getUnsigned(op, in, 1));
      return nullptr;
    };
    functions["affine.apply"] = [](Operation *op, Operands in,
                                   Scalar &out) -> const char * {
      AffineMap map = cast<affine::AffineApplyOp>(op).getAffineMap();
      SmallVector<int64_t> values;
      for (Scalar value : in)
        values.push_back(value.i);
      bool divides = true;
      map.getResult(0).walk([&](AffineExpr sub) {
        auto binary = dyn_cast<AffineBinaryOpExpr>(sub);
        if (binary && sub.getKind() != AffineExprKind::Add &&
            sub.getKind() != AffineExprKind::Mul) {
          auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
          divides &= divisor && divisor.getValue() > 0;
        }
      });
      if (!divides)
        return "divisors that are not positive constants are not supported";
      ArrayRef<int64_t> all(values);
      out.i = evaluate(map.getResult(0), all.take_front(map.getNumDims()),
                       all.drop_front(map.getNumDims()));
      return nullptr;
    };
  }

  void addConversions() {
    ScalarFunction keep = [](Operation *, Operands in,
                             Scalar &out) -> const char * {
      out = in[0];
      return nullptr;
    };
    functions["arith.extf"] = functions["arith.truncf"] = keep;
    ScalarFunction toSigned = [](Operation *op, Operands in,
                                 Scalar &out) -> const char * {
      out.i = wrap(getSigned(op, in, 0), op->getResult(0).getType());
      return nullptr;
    };
    ScalarFunction toUnsigned = [](Operation *op, Operands in,
                                   Scalar &out) -> const char * {
      out.i = wrap(int64_t(getUnsigned(op, in, 0)), op->getResult(0).getType());
      return nullptr;
    };
    functions["arith.extsi"] = functions["arith.trunci"] = toSigned;
    functions["arith.index_cast"] = toSigned;
    functions["arith.extui"] = functions["arith.index_castui"] = toUnsigned;
    functions["arith.sitofp"] = [](Operation *op, Operands in,
                                   Scalar &out) -> const char * {
      out.f = double(getSigned(op, in, 0));
      return nullptr;
    };
    functions["arith.uitofp"] = [](Operation *op, Operands in,
                                   Scalar &out) -> const char * {
      out.f = double(getUnsigned(op, in, 0));
      return nullptr;
    };
    functions["arith.fptosi"] = [](Operation *op, Operands in,
                                   Scalar &out) -> const char * {
      return fromFloatToInteger(op, in[0].f, /*isUnsigned=*/false, out);
    };
    functions["arith.fptoui"] = [](Operation *op, Operands in,
                                   Scalar &out) -> const char * {
      return fromFloatToInteger(op, in[0].f, /*isUnsigned=*/true, out);
    };
    functions["arith.bitcast"] = bitcast;
  }

  void addMath() {
    NEOFLOW_FLOAT1("math.absf", std::fabs(a));
    NEOFLOW_FLOAT1("math.ceil", std::ceil(a));
    NEOFLOW_FLOAT1("math.floor", std::floor(a));
    NEOFLOW_FLOAT1("math.round", std::round(a));
    NEOFLOW_FLOAT1("math.roundeven", std::nearbyint(a));
    NEOFLOW_FLOAT1("math.trunc", std::trunc(a));
    NEOFLOW_FLOAT1("math.sqrt", std::sqrt(a));
    NEOFLOW_FLOAT1("math.rsqrt", 1.0 / std::sqrt(a));
    NEOFLOW_FLOAT1("math.cbrt", std::cbrt(a));
    NEOFLOW_FLOAT1("math.exp", std::exp(a));
    NEOFLOW_FLOAT1("math.exp2", std::exp2(a));
    NEOFLOW_FLOAT1("math.expm1", std::expm1(a));
    NEOFLOW_FLOAT1("math.log", std::log(a));
    NEOFLOW_FLOAT1("math.log2", std::log2(a));
    NEOFLOW_FLOAT1("math.log10", std::log10(a));
    NEOFLOW_FLOAT1("math.log1p", std::log1p(a));
    NEOFLOW_FLOAT1("math.sin", std::sin(a));
    NEOFLOW_FLOAT1("math.cos", std::cos(a));
    NEOFLOW_FLOAT1("math.tan", std::tan(a));
    NEOFLOW_FLOAT1("math.asin", std::asin(a));
    NEOFLOW_FLOAT1("math.acos", std::acos(a));
    NEOFLOW_FLOAT1("math.atan", std::atan(a));
    NEOFLOW_FLOAT1("math.sinh", std::sinh(a));
    NEOFLOW_FLOAT1("math.cosh", std::cosh(a));
    NEOFLOW_FLOAT1("math.tanh", std::tanh(a));
    NEOFLOW_FLOAT1("math.asinh", std::asinh(a));
    NEOFLOW_FLOAT1("math.acosh", std::acosh(a));
    NEOFLOW_FLOAT1("math.atanh", std::atanh(a));
    NEOFLOW_FLOAT1("math.erf", std::erf(a));
    NEOFLOW_FLOAT1("math.erfc", std::erfc(a));
    NEOFLOW_FLOAT2("math.atan2", std::atan2(a, b));
    NEOFLOW_FLOAT2("math.powf", std::pow(a, b));
    NEOFLOW_FLOAT2("math.copysign", std::copysign(a, b));
    functions["math.fma"] = [](Operation *, Operands in,
                               Scalar &out) -> const char * {
      out.f = std::fma(in[0].f, in[1].f, in[2].f);
      return nullptr;
    };
    functions["math.clampf"] = [](Operation *, Operands in,
                                  Scalar &out) -> const char * {
      out.f = maximum(minimum(in[0].f, in[2].f), in[1].f);
      return nullptr;
    };
    functions["math.fpowi"] = [](Operation *op, Operands in,
                                 Scalar &out) -> const char * {
      out.f = std::pow(in[0].f, double(getSigned(op, in, 1)));
      return nullptr;
    };
    functions["math.ipowi"] = [](Operation *op, Operands in,
                                 Scalar &out) -> const char * {
      int64_t base = getSigned(op, in, 0), exponent = getSigned(op, in, 1);
      if (exponent < 0 && base == 0)
        return "zero to a negative power";
      int64_t value = exponent >= 0 ? integerPower(base, exponent)
                      : base == 1   ? 1
                      : base == -1  ? (exponent % 2 ? -1 : 1)
                                    : 0;
      out.i = wrap(value, op->getResult(0).getType());
      return nullptr;
    };
  }

  void addClassification() {
    NEOFLOW_TEST1("math.isnan", std::isnan(a));
    NEOFLOW_TEST1("math.isinf", std::isinf(a));
    NEOFLOW_TEST1("math.isfinite", std::isfinite(a));
    functions["math.absi"] = [](Operation *op, Operands in,
                                Scalar &out) -> const char * {
      int64_t a = getSigned(op, in, 0);
      out.i = wrap(a < 0 ? int64_t(0 - uint64_t(a)) : a,
                   op->getResult(0).getType());
      return nullptr;
    };
    functions["math.ctlz"] = [](Operation *op, Operands in,
                                Scalar &out) -> const char * {
      unsigned width = widthOf(op->getOperand(0).getType());
      out.i = wrap(llvm::countl_zero(getUnsigned(op, in, 0)) - (64 - width),
                   op->getResult(0).getType());
      return nullptr;
    };
    functions["math.cttz"] = [](Operation *op, Operands in,
                                Scalar &out) -> const char * {
      int width = widthOf(op->getOperand(0).getType());
      out.i = wrap(std::min(width, llvm::countr_zero(getUnsigned(op, in, 0))),
                   op->getResult(0).getType());
      return nullptr;
    };
    functions["math.ctpop"] = [](Operation *op, Operands in,
                                 Scalar &out) -> const char * {
      out.i = wrap(llvm::popcount(getUnsigned(op, in, 0)),
                   op->getResult(0).getType());
      return nullptr;
    };
  }
};
} // namespace

ScalarFunction neoflow::test::getScalarFunction(Operation *op) {
  static const Table table;
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !llvm::all_of(op->getOperandTypes(), isScalar) ||
      !isScalar(op->getResult(0).getType()))
    return nullptr;
  return table.functions.lookup(op->getName().getStringRef());
}
