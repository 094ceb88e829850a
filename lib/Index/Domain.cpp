// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges, emptiness and simplification over iteration domains.

#include "neoflow/Index/Domain.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Support/LLVM.h"

using namespace mlir;
using namespace neoflow;
using namespace neoflow::index;

static int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Ends of ranges stay far from the limits of int64, so that sums of a few of
/// them do not overflow. A range that reaches this far is as good as unbounded.
constexpr int64_t kUnbounded = INT64_MAX / 4;

static int64_t clampEnd(__int128 value) {
  if (value > kUnbounded)
    return kUnbounded;
  if (value < -kUnbounded)
    return -kUnbounded;
  return static_cast<int64_t>(value);
}

std::optional<Range> index::boxRange(AffineExpr expr,
                                     ArrayRef<int64_t> extents) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Range{constant.getValue(), constant.getValue(), true};
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t extent = extents[dim.getPosition()];
    if (extent <= 0)
      return std::nullopt;
    return Range{0, extent - 1, true};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) // A symbol: anything.
    return Range{-kUnbounded, kUnbounded, false};
  std::optional<Range> lhs = boxRange(binary.getLHS(), extents);
  std::optional<Range> rhs = boxRange(binary.getRHS(), extents);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add) {
    // Ends are attained together when the sides share no dimension.
    bool independent = true;
    for (unsigned i = 0; i < extents.size(); ++i)
      independent &= !(binary.getLHS().isFunctionOfDim(i) &&
                       binary.getRHS().isFunctionOfDim(i));
    return Range{clampEnd(__int128(lhs->min) + rhs->min),
                 clampEnd(__int128(lhs->max) + rhs->max),
                 lhs->exact && rhs->exact && independent};
  }
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!constant)
    return Range{-kUnbounded, kUnbounded, false};
  int64_t c = constant.getValue();
  switch (expr.getKind()) {
  case AffineExprKind::Mul: {
    int64_t low = clampEnd(__int128(lhs->min) * c);
    int64_t high = clampEnd(__int128(lhs->max) * c);
    return Range{std::min(low, high), std::max(low, high), lhs->exact};
  }
  case AffineExprKind::FloorDiv:
    return Range{floorDiv(lhs->min, c), floorDiv(lhs->max, c), lhs->exact};
  case AffineExprKind::CeilDiv:
    return Range{ceilDiv(lhs->min, c), ceilDiv(lhs->max, c), lhs->exact};
  case AffineExprKind::Mod: {
    int64_t block = floorDiv(lhs->min, c);
    if (block == floorDiv(lhs->max, c))
      return Range{lhs->min - block * c, lhs->max - block * c, lhs->exact};
    return Range{0, c - 1, false};
  }
  default:
    return std::nullopt;
  }
}

/// The points (v, expr(v)) of the box and one set, as a polyhedron whose last
/// set dimension is the value of `expr`.
static presburger::IntegerPolyhedron
makePolyhedron(AffineExpr expr, ArrayRef<int64_t> extents, IntegerSet set) {
  MLIRContext *context = expr.getContext();
  unsigned n = extents.size();
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (unsigned i = 0; i < n; ++i) {
    AffineExpr dim = getAffineDimExpr(i, context);
    constraints.push_back(dim);
    constraints.push_back(extents[i] - 1 - dim);
    equalities.append(2, false);
  }
  if (set) {
    llvm::append_range(constraints, set.getConstraints());
    llvm::append_range(equalities, set.getEqFlags());
  }
  constraints.push_back(expr - getAffineDimExpr(n, context));
  equalities.push_back(true);
  return FlatLinearValueConstraints(
      IntegerSet::get(n + 1, 0, constraints, equalities));
}

std::optional<Range> index::rangeOver(AffineExpr expr, const Domain &domain) {
  std::optional<Range> box = boxRange(expr, domain.extents);
  if (!box || (domain.sets.empty() && box->exact))
    return box;
  SmallVector<IntegerSet> sets(domain.sets);
  if (sets.empty())
    sets.push_back(IntegerSet());
  std::optional<Range> result;
  for (IntegerSet set : sets) {
    presburger::IntegerPolyhedron points =
        makePolyhedron(expr, domain.extents, set);
    if (points.isIntegerEmpty())
      continue;
    // The ends are found by bisection on emptiness over the integers, which is
    // exact where the bounds of the relaxed problem are not.
    auto attains = [&](presburger::BoundType type, int64_t bound) {
      presburger::IntegerPolyhedron part = points;
      part.addBound(type, domain.extents.size(), bound);
      return !part.isIntegerEmpty();
    };
    Range range = *box;
    range.exact = true;
    for (int64_t low = box->min, high = box->max; low < high;) {
      int64_t middle = low + (high - low) / 2;
      if (attains(presburger::BoundType::UB, middle))
        high = middle;
      else
        low = middle + 1;
      range.min = high;
    }
    for (int64_t low = range.min, high = box->max; low < high;) {
      int64_t middle = low + (high - low + 1) / 2;
      if (attains(presburger::BoundType::LB, middle))
        low = middle;
      else
        high = middle - 1;
      range.max = low;
    }
    if (!result) {
      result = range;
      continue;
    }
    result->min = std::min(result->min, range.min);
    result->max = std::max(result->max, range.max);
    result->exact &= range.exact;
  }
  return result;
}

bool index::isEmpty(const Domain &domain) {
  if (llvm::any_of(domain.extents, [](int64_t extent) { return extent <= 0; }))
    return true;
  if (domain.sets.empty())
    return false;
  return llvm::all_of(domain.sets, [&](IntegerSet set) {
    return makePolyhedron(getAffineConstantExpr(0, set.getContext()),
                          domain.extents, set)
        .isIntegerEmpty();
  });
}

bool index::areDisjoint(const Domain &domain) {
  for (unsigned i = 0; i < domain.sets.size(); ++i) {
    for (unsigned j = i + 1; j < domain.sets.size(); ++j) {
      IntegerSet a = domain.sets[i], b = domain.sets[j];
      SmallVector<AffineExpr> constraints(a.getConstraints());
      SmallVector<bool> equalities(a.getEqFlags());
      llvm::append_range(constraints, b.getConstraints());
      llvm::append_range(equalities, b.getEqFlags());
      IntegerSet both =
          IntegerSet::get(a.getNumDims(), 0, constraints, equalities);
      if (!isEmpty({domain.extents, {both}}))
        return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Simplification
//===----------------------------------------------------------------------===//

namespace {
/// A sum of distinct terms with coefficients, in order of first occurrence.
struct Sum {
  SmallVector<std::pair<AffineExpr, int64_t>> terms;
  int64_t constant = 0;

  void add(AffineExpr expr, int64_t factor) {
    if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
      constant += number.getValue() * factor;
      return;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (binary && expr.getKind() == AffineExprKind::Add) {
      add(binary.getLHS(), factor);
      add(binary.getRHS(), factor);
      return;
    }
    if (binary && expr.getKind() == AffineExprKind::Mul) {
      if (auto number = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
        add(binary.getLHS(), factor * number.getValue());
        return;
      }
    }
    for (auto &[term, coefficient] : terms) {
      if (term == expr) {
        coefficient += factor;
        return;
      }
    }
    terms.push_back({expr, factor});
  }

  /// Joins `(x floordiv c) * (c * f) + (x mod c) * f` to `x * f`.
  void joinDivisions() {
    for (unsigned i = 0; i < terms.size(); ++i) {
      auto mod = dyn_cast<AffineBinaryOpExpr>(terms[i].first);
      if (!mod || mod.getKind() != AffineExprKind::Mod || terms[i].second == 0)
        continue;
      auto c = dyn_cast<AffineConstantExpr>(mod.getRHS());
      if (!c)
        continue;
      AffineExpr quotient = mod.getLHS().floorDiv(c.getValue());
      for (auto &[term, coefficient] : terms) {
        if (term != quotient || coefficient != terms[i].second * c.getValue())
          continue;
        int64_t factor = terms[i].second;
        coefficient = terms[i].second = 0;
        add(mod.getLHS(), factor);
        i = 0;
        break;
      }
    }
  }

  int64_t coefficientOf(AffineExpr expr) const {
    for (auto [term, coefficient] : terms)
      if (term == expr)
        return coefficient;
    return 0;
  }

  /// Rewrites `e * a + (e floordiv c) * b` to `(e mod c) * a + (e floordiv c) *
  /// (b + a * c)` where that makes the coefficient of the quotient smaller.
  void splitDivisions() {
    for (unsigned i = 0; i < terms.size(); ++i) {
      auto quotient = dyn_cast<AffineBinaryOpExpr>(terms[i].first);
      if (!quotient || quotient.getKind() != AffineExprKind::FloorDiv)
        continue;
      auto c = dyn_cast<AffineConstantExpr>(quotient.getRHS());
      Sum dividend;
      dividend.add(quotient.getLHS(), 1);
      if (!c || dividend.terms.empty())
        continue;
      // How often the whole dividend occurs in the sum.
      auto [first, unit] = dividend.terms.front();
      int64_t have = coefficientOf(first);
      if (have == 0 || have % unit != 0)
        continue;
      int64_t a = have / unit, b = terms[i].second;
      int64_t rest = b + a * c.getValue();
      bool whole = llvm::all_of(dividend.terms, [&](auto &term) {
        return coefficientOf(term.first) == a * term.second;
      });
      if (!whole || std::abs(rest) >= std::abs(b))
        continue;
      terms[i].second = rest;
      for (auto [term, coefficient] : dividend.terms)
        add(term, -a * coefficient);
      constant -= a * dividend.constant;
      add(quotient.getLHS() % c.getValue(), a);
    }
  }

  /// The sum, added terms before subtracted ones, then by their first
  /// dimension.
  AffineExpr get(MLIRContext *context) const {
    AffineExpr result;
    auto firstDim = [](AffineExpr expr) {
      unsigned first = UINT_MAX;
      expr.walk([&](AffineExpr sub) {
        if (auto dim = dyn_cast<AffineDimExpr>(sub))
          first = std::min(first, dim.getPosition());
      });
      return first;
    };
    SmallVector<std::tuple<bool, unsigned, unsigned>> order;
    for (auto [i, term] : llvm::enumerate(terms))
      order.push_back({term.second < 0, firstDim(term.first), i});
    llvm::sort(order);
    for (auto [negative, dim, i] : order) {
      auto [term, coefficient] = terms[i];
      if (coefficient == 0)
        continue;
      AffineExpr part = term * coefficient;
      result = result ? result + part : part;
    }
    if (!result)
      return getAffineConstantExpr(constant, context);
    return constant == 0 ? result : result + constant;
  }
};
} // namespace

AffineExpr index::simplifyOver(AffineExpr expr, ArrayRef<int64_t> extents) {
  MLIRContext *context = expr.getContext();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return extents[dim.getPosition()] == 1 ? getAffineConstantExpr(0, context)
                                           : expr;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = simplifyOver(binary.getLHS(), extents);
  AffineExpr rhs = simplifyOver(binary.getRHS(), extents);
  Sum sum;
  if (expr.getKind() == AffineExprKind::Add) {
    sum.add(lhs, 1);
    sum.add(rhs, 1);
    sum.joinDivisions();
    sum.splitDivisions();
    return sum.get(context);
  }
  auto constant = dyn_cast<AffineConstantExpr>(rhs);
  if (!constant)
    return getAffineBinaryOpExpr(expr.getKind(), lhs, rhs);
  int64_t c = constant.getValue();
  if (expr.getKind() == AffineExprKind::Mul) {
    sum.add(lhs, c);
    return sum.get(context);
  }
  if (c <= 0 || expr.getKind() == AffineExprKind::CeilDiv)
    return getAffineBinaryOpExpr(expr.getKind(), lhs, rhs);
  // lhs = c * whole + rest, where rest may lie inside one block of c.
  sum.add(lhs, 1);
  Sum whole, rest;
  for (auto [term, coefficient] : sum.terms) {
    if (coefficient % c == 0)
      whole.add(term, coefficient / c);
    else
      rest.add(term, coefficient);
  }
  int64_t shift = floorDiv(sum.constant, c);
  whole.constant = shift;
  rest.constant = sum.constant - shift * c;
  AffineExpr restExpr = rest.get(context);
  std::optional<Range> range = boxRange(restExpr, extents);
  if (range && floorDiv(range->min, c) == floorDiv(range->max, c)) {
    int64_t block = floorDiv(range->min, c);
    if (expr.getKind() == AffineExprKind::FloorDiv) {
      whole.constant += block;
      return whole.get(context);
    }
    rest.constant -= block * c;
    return rest.get(context);
  }
  if (expr.getKind() == AffineExprKind::Mod)
    return restExpr % c;
  return whole.get(context) + restExpr.floorDiv(c);
}

/// Whether `constraint` holds everywhere in the box and `others`.
static bool isImplied(AffineExpr constraint, bool isEquality,
                      ArrayRef<int64_t> extents, IntegerSet others) {
  Domain domain{SmallVector<int64_t>(extents), {}};
  if (others)
    domain.sets.push_back(others);
  std::optional<Range> range = boxRange(constraint, extents);
  if (!range)
    return true;
  if (range->min >= 0 && (!isEquality || range->max <= 0))
    return true;
  if (!others)
    return false;
  range = rangeOver(constraint, domain);
  return !range || (range->min >= 0 && (!isEquality || range->max <= 0));
}

IntegerSet index::simplifyOver(IntegerSet set, ArrayRef<int64_t> extents) {
  MLIRContext *context = set.getContext();
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    AffineExpr constraint = simplifyOver(set.getConstraint(i), extents);
    if (isImplied(constraint, set.isEq(i), extents, IntegerSet()))
      continue;
    constraints.push_back(constraint);
    equalities.push_back(set.isEq(i));
  }
  // Drop what the remaining constraints imply, one at a time.
  for (unsigned i = 0; i < constraints.size() && constraints.size() > 1;) {
    SmallVector<AffineExpr> others(constraints);
    SmallVector<bool> otherEqualities(equalities);
    others.erase(others.begin() + i);
    otherEqualities.erase(otherEqualities.begin() + i);
    IntegerSet rest =
        IntegerSet::get(set.getNumDims(), 0, others, otherEqualities);
    if (!isImplied(constraints[i], equalities[i], extents, rest)) {
      ++i;
      continue;
    }
    constraints = others;
    equalities = otherEqualities;
  }
  if (constraints.empty()) {
    constraints.push_back(getAffineConstantExpr(0, context));
    equalities.push_back(true);
  }
  return IntegerSet::get(set.getNumDims(), 0, constraints, equalities);
}
