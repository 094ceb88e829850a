// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inversion of index maps. floordiv and mod become integer variables of their
// own, tied by Euclid's equation; what remains is a linear system over the
// integers, solved by column operations. Its null space is then given a basis
// and an origin in which each free index starts at zero and is as short as the
// range of some variable allows.

#include "neoflow/Index/ReadInverse.h"

#include "neoflow/Index/Domain.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace neoflow;
using namespace neoflow::index;

namespace {

/// An integer unknown. Forward variables come first, then quotients and
/// remainders.
struct Variable {
  int64_t min, max;
  /// Whether [min, max] restricts the solutions. A quotient's range follows
  /// from the others.
  bool restricts;
};

/// A linear form over the unknowns.
struct LinearForm {
  SmallVector<int64_t> coefficients;
  int64_t constant = 0;

  int64_t &operator[](unsigned i) {
    if (i >= coefficients.size())
      coefficients.resize(i + 1, 0);
    return coefficients[i];
  }
  void add(const LinearForm &other, int64_t factor) {
    for (unsigned i = 0; i < other.coefficients.size(); ++i)
      (*this)[i] += factor * other.coefficients[i];
    constant += factor * other.constant;
  }
};

/// Coefficients beyond this make the column operations overflow.
constexpr int64_t kLargestCoefficient = int64_t(1) << 31;

class Inverter {
public:
  Inverter(AffineMap map, ArrayRef<int64_t> extents,
           ArrayRef<IntegerSet> domain, ArrayRef<int64_t> shape,
           std::string &reason)
      : map(map), extents(extents), domain(domain), shape(shape),
        reason(reason), context(map.getContext()) {}

  std::optional<ReadInverse> run();

private:
  std::optional<LinearForm> linearize(AffineExpr expr);
  bool solve();
  void chooseFreeIndices();
  void addRangeGuards();
  ReadInverse finish();

  AffineExpr constant(int64_t value) {
    return getAffineConstantExpr(value, context);
  }

  AffineMap map;
  ArrayRef<int64_t> extents;
  ArrayRef<IntegerSet> domain;
  ArrayRef<int64_t> shape;
  std::string &reason;
  MLIRContext *context;

  SmallVector<Variable> variables;
  SmallVector<std::tuple<AffineExpr, int64_t, unsigned>> divisions;
  /// equations[i] == rightSides[i].
  SmallVector<LinearForm> equations;
  SmallVector<AffineExpr> rightSides;
  /// The value of every unknown at the origin of the free columns.
  SmallVector<AffineExpr> origin;
  /// Basis of the null space, one entry per unknown in each column.
  SmallVector<SmallVector<int64_t>> columns;
  SmallVector<AffineExpr> equalities, inequalities;
  /// Extents of the free indices in order of choice, and the unknown that each
  /// one runs along.
  SmallVector<int64_t> freeExtents;
  SmallVector<unsigned> freeVariables;
};

std::optional<LinearForm> Inverter::linearize(AffineExpr expr) {
  LinearForm form;
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    form.constant = number.getValue();
    return form;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    form[dim.getPosition()] = 1;
    return form;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    reason = "the subscript depends on a symbol";
    return std::nullopt;
  }
  if (expr.getKind() == AffineExprKind::Add) {
    std::optional<LinearForm> lhs = linearize(binary.getLHS());
    std::optional<LinearForm> rhs = linearize(binary.getRHS());
    if (!lhs || !rhs)
      return std::nullopt;
    lhs->add(*rhs, 1);
    return lhs;
  }
  auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!number) {
    reason = "the subscript multiplies or divides by an index";
    return std::nullopt;
  }
  int64_t c = number.getValue();
  if (expr.getKind() == AffineExprKind::Mul) {
    std::optional<LinearForm> lhs = linearize(binary.getLHS());
    if (!lhs)
      return std::nullopt;
    form.add(*lhs, c);
    return form;
  }
  if (c <= 0) {
    reason = "the subscript divides by " + std::to_string(c);
    return std::nullopt;
  }
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return linearize((binary.getLHS() + (c - 1)).floorDiv(c));
  // Structurally equal divisions share their quotient and remainder.
  AffineExpr dividend = binary.getLHS();
  unsigned quotient = 0;
  bool known = false;
  for (auto [other, divisor, variable] : divisions) {
    if (other == dividend && divisor == c) {
      quotient = variable;
      known = true;
    }
  }
  if (!known) {
    std::optional<LinearForm> lhs = linearize(dividend);
    if (!lhs)
      return std::nullopt;
    std::optional<Range> range = boxRange(dividend.floorDiv(c), extents);
    quotient = variables.size();
    variables.push_back({range->min, range->max, /*restricts=*/false});
    variables.push_back({0, c - 1, /*restricts=*/true});
    LinearForm euclid = *lhs;
    int64_t offset = euclid.constant;
    euclid.constant = 0;
    euclid[quotient] -= c;
    euclid[quotient + 1] -= 1;
    equations.push_back(euclid);
    rightSides.push_back(constant(-offset));
    divisions.push_back({dividend, c, quotient});
  }
  form[expr.getKind() == AffineExprKind::Mod ? quotient + 1 : quotient] = 1;
  return form;
}

/// Column operations bring the equations to echelon form; unknowns are then
/// read off one equation after the other.
bool Inverter::solve() {
  unsigned n = variables.size();
  for (LinearForm &equation : equations) {
    equation.coefficients.resize(n, 0);
    for (int64_t coefficient : equation.coefficients) {
      if (std::abs(coefficient) > kLargestCoefficient) {
        reason = "the subscript has coefficients beyond 2^31";
        return false;
      }
    }
  }
  // transform[j] is column j of the unimodular transform.
  SmallVector<SmallVector<int64_t>> transform(n, SmallVector<int64_t>(n, 0));
  for (unsigned j = 0; j < n; ++j)
    transform[j][j] = 1;
  auto at = [&](unsigned row, unsigned column) {
    __int128 sum = 0;
    for (unsigned i = 0; i < n; ++i)
      sum += __int128(equations[row].coefficients[i]) * transform[column][i];
    return static_cast<int64_t>(sum);
  };
  unsigned rank = 0;
  SmallVector<AffineExpr> solved;
  for (unsigned row = 0; row < equations.size(); ++row) {
    // Euclid's algorithm on the row's entries in the columns not yet fixed.
    while (true) {
      int best = -1;
      unsigned nonZero = 0;
      for (unsigned j = rank; j < n; ++j) {
        if (at(row, j) == 0)
          continue;
        ++nonZero;
        if (best < 0 || std::abs(at(row, j)) < std::abs(at(row, best)))
          best = j;
      }
      if (nonZero == 0)
        break;
      std::swap(transform[rank], transform[best]);
      if (nonZero == 1)
        break;
      int64_t pivot = at(row, rank);
      for (unsigned j = rank + 1; j < n; ++j) {
        int64_t factor = at(row, j) / pivot;
        for (unsigned i = 0; i < n; ++i)
          transform[j][i] -= factor * transform[rank][i];
      }
    }
    AffineExpr rest = rightSides[row];
    for (unsigned j = 0; j < rank; ++j)
      rest = rest - solved[j] * at(row, j);
    if (rank == n || at(row, rank) == 0) {
      equalities.push_back(rest);
      continue;
    }
    if (at(row, rank) < 0)
      for (int64_t &entry : transform[rank])
        entry = -entry;
    int64_t pivot = at(row, rank);
    if (pivot != 1)
      equalities.push_back(rest % pivot);
    solved.push_back(rest.floorDiv(pivot));
    ++rank;
  }
  origin.assign(n, constant(0));
  for (unsigned j = 0; j < rank; ++j)
    for (unsigned i = 0; i < n; ++i)
      origin[i] = origin[i] + solved[j] * transform[j][i];
  columns.assign(transform.begin() + rank, transform.end());
  return true;
}

/// Each step takes the unknown whose range leaves the fewest values to a free
/// index, and makes that index count from zero.
void Inverter::chooseFreeIndices() {
  unsigned rank = shape.size();
  while (!columns.empty()) {
    int best = -1;
    int64_t bestExtent = 0, bestStep = 0;
    for (unsigned i = 0; i < variables.size(); ++i) {
      int64_t step = 0;
      for (ArrayRef<int64_t> column : columns)
        step = std::gcd(step, column[i]);
      if (step == 0)
        continue;
      int64_t extent = (variables[i].max - variables[i].min + step) / step;
      if (best < 0 || extent < bestExtent ||
          (extent == bestExtent && step > bestStep)) {
        best = i;
        bestExtent = extent;
        bestStep = step;
      }
    }
    // Leave one column in which that unknown moves, by its step.
    unsigned pivot = 0;
    while (true) {
      unsigned nonZero = 0;
      for (unsigned j = 0; j < columns.size(); ++j) {
        if (columns[j][best] == 0)
          continue;
        ++nonZero;
        if (columns[pivot][best] == 0 ||
            std::abs(columns[j][best]) < std::abs(columns[pivot][best]))
          pivot = j;
      }
      if (nonZero <= 1)
        break;
      for (unsigned j = 0; j < columns.size(); ++j) {
        if (j == pivot)
          continue;
        int64_t factor = columns[j][best] / columns[pivot][best];
        for (unsigned i = 0; i < variables.size(); ++i)
          columns[j][i] -= factor * columns[pivot][i];
      }
    }
    SmallVector<int64_t> column = columns[pivot];
    columns.erase(columns.begin() + pivot);
    if (column[best] < 0)
      for (int64_t &entry : column)
        entry = -entry;
    // unknown = origin + step * t is written as (origin - min) mod step + min +
    // step * t' with t' from zero.
    AffineExpr shift = (origin[best] - variables[best].min).floorDiv(bestStep);
    AffineExpr free = constant(0);
    if (bestExtent > 1) {
      free = getAffineDimExpr(rank + freeExtents.size(), context);
      freeExtents.push_back(bestExtent);
      freeVariables.push_back(best);
    }
    for (unsigned i = 0; i < variables.size(); ++i)
      if (column[i] != 0)
        origin[i] = origin[i] + (free - shift) * column[i];
  }
}

void Inverter::addRangeGuards() {
  for (auto [variable, value] : llvm::zip(variables, origin)) {
    if (!variable.restricts)
      continue;
    inequalities.push_back(value - variable.min);
    inequalities.push_back(variable.max - value);
  }
}

ReadInverse Inverter::finish() {
  // Free indices in the order of the unknowns they run along.
  unsigned rank = shape.size();
  SmallVector<unsigned> order(freeExtents.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return freeVariables[a] < freeVariables[b];
  });
  ReadInverse result;
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < rank; ++i)
    dims.push_back(getAffineDimExpr(i, context));
  dims.resize(rank + order.size());
  for (auto [position, index] : llvm::enumerate(order)) {
    dims[rank + index] = getAffineDimExpr(rank + position, context);
    result.freeExtents.push_back(freeExtents[index]);
  }
  SmallVector<int64_t> box(shape);
  llvm::append_range(box, result.freeExtents);
  auto simplify = [&](AffineExpr expr) {
    return simplifyOver(expr.replaceDims(dims), box);
  };
  for (unsigned i = 0; i < extents.size(); ++i)
    result.variables.push_back(simplify(origin[i]));

  SmallVector<AffineExpr> constraints;
  SmallVector<bool> isEquality;
  for (AffineExpr expr : equalities) {
    constraints.push_back(simplify(expr));
    isEquality.push_back(true);
  }
  for (AffineExpr expr : inequalities) {
    constraints.push_back(simplify(expr));
    isEquality.push_back(false);
  }
  SmallVector<IntegerSet> sets(domain);
  if (sets.empty())
    sets.push_back(IntegerSet());
  bool everywhere = false;
  for (IntegerSet set : sets) {
    SmallVector<AffineExpr> all(constraints);
    SmallVector<bool> flags(isEquality);
    if (set) {
      for (AffineExpr expr : set.getConstraints())
        all.push_back(simplifyOver(expr.replaceDims(result.variables), box));
      llvm::append_range(flags, set.getEqFlags());
    }
    if (all.empty()) {
      everywhere = true;
      continue;
    }
    IntegerSet guard =
        simplifyOver(IntegerSet::get(box.size(), 0, all, flags), box);
    if (isEmpty({box, {guard}}))
      continue;
    everywhere |= guard.getNumConstraints() == 1 && guard.isEq(0) &&
                  guard.getConstraint(0) == constant(0);
    result.where.push_back(guard);
  }
  if (everywhere)
    result.where.clear();
  else
    result.empty = result.where.empty();
  return result;
}

std::optional<ReadInverse> Inverter::run() {
  ReadInverse nothing;
  nothing.empty = true;
  if (llvm::any_of(extents, [](int64_t e) { return e <= 0; }) ||
      llvm::any_of(shape, [](int64_t e) { return e <= 0; }))
    return nothing;
  for (int64_t extent : extents)
    variables.push_back({0, extent - 1, /*restricts=*/true});
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    std::optional<LinearForm> form = linearize(simplifyOver(expr, extents));
    if (!form)
      return std::nullopt;
    int64_t offset = form->constant;
    form->constant = 0;
    equations.push_back(*form);
    rightSides.push_back(getAffineDimExpr(i, context) - offset);
  }
  if (!solve())
    return std::nullopt;
  chooseFreeIndices();
  addRangeGuards();
  return finish();
}

} // namespace

std::optional<ReadInverse> index::invertRead(AffineMap map,
                                             ArrayRef<int64_t> extents,
                                             ArrayRef<IntegerSet> domain,
                                             ArrayRef<int64_t> shape,
                                             std::string &reason) {
  return Inverter(map, extents, domain, shape, reason).run();
}
