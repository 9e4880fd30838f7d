// Few unknowns: every choice of those that are not 0 is solved by itself, and the best without a negative value stays.
#include "tools/lib/planner/machine/FitFigures.h"

#include "compiler/cost/CostModel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace npar::planner {
namespace {

/// Solves the normal equations for the unknowns in `chosen` by Gauss-Jordan elimination with pivots; nothing where they are dependent.
std::optional<std::vector<double>> solve(const std::vector<Equation> &equations, const std::vector<size_t> &chosen) {
  size_t n = chosen.size();
  std::vector<std::vector<double>> matrix(n, std::vector<double>(n + 1, 0));
  std::vector<double> scale(n, 0); // counts differ by many orders of magnitude
  for (const Equation &equation : equations)
    for (size_t i = 0; i < n; ++i)
      scale[i] = std::max(scale[i], equation.counts[chosen[i]]);
  for (double one : scale)
    if (!(one > 0))
      return std::nullopt;
  for (const Equation &equation : equations) {
    double weight = equation.weight / equation.seconds;
    for (size_t i = 0; i < n; ++i) {
      double count = weight * equation.counts[chosen[i]] / scale[i];
      for (size_t j = 0; j < n; ++j)
        matrix[i][j] += count * equation.counts[chosen[j]] / scale[j];
      matrix[i][n] += count * equation.seconds;
    }
  }
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column; row < n; ++row)
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column]))
        pivot = row;
    std::swap(matrix[column], matrix[pivot]);
    double first = matrix[column][column];
    if (!(std::abs(first) > 1e-12 * std::abs(matrix[0][0])))
      return std::nullopt;
    for (double &value : matrix[column])
      value /= first;
    for (size_t row = 0; row < n; ++row)
      if (double factor = matrix[row][column]; row != column && factor != 0)
        for (size_t i = 0; i <= n; ++i)
          matrix[row][i] -= factor * matrix[column][i];
  }
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = matrix[i][n] / scale[i];
  return values;
}

double errorOf(const std::vector<Equation> &equations, const std::vector<double> &values) {
  double sum = 0;
  for (const Equation &equation : equations) {
    double error = predicted(equation, values) - equation.seconds;
    sum += equation.weight * error * error / equation.seconds;
  }
  return sum;
}

} // namespace

double predicted(const Equation &equation, const std::vector<double> &values) {
  double seconds = 0;
  for (size_t i = 0; i < values.size(); ++i)
    seconds += equation.counts[i] * values[i];
  return seconds;
}

std::vector<double> fitNotNegative(const std::vector<Equation> &all, size_t unknowns) {
  std::vector<Equation> equations;
  for (const Equation &equation : all)
    if (equation.seconds > 0)
      equations.push_back(equation);
  std::vector<double> best(unknowns, 0);
  double least = errorOf(equations, best);
  for (size_t choice = 1; choice < size_t{1} << unknowns && !equations.empty(); ++choice) {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < unknowns; ++i)
      if (choice >> i & 1)
        chosen.push_back(i);
    std::optional<std::vector<double>> solved = solve(equations, chosen);
    if (!solved)
      continue;
    std::vector<double> values(unknowns, 0);
    bool negative = false;
    for (size_t i = 0; i < chosen.size(); ++i) {
      values[chosen[i]] = (*solved)[i];
      negative |= !((*solved)[i] >= 0);
    }
    if (double error = errorOf(equations, values); !negative && error < least) {
      least = error;
      best = values;
    }
  }
  return best;
}

std::vector<double> scaledToSum(const std::vector<Equation> &equations, std::vector<double> values) {
  double measured = 0, said = 0;
  for (const Equation &equation : equations) {
    measured += equation.seconds;
    said += predicted(equation, values);
  }
  for (double &value : values)
    value *= said > 0 ? measured / said : 1;
  return values;
}

double spreadSeconds(const SpreadObservation &observation, const Spreading &spreading, double cores) {
  cost::Machine machine;
  machine.cores = cores, machine.spread = spreading.share, machine.grain = spreading.grain;
  double seconds = 0;
  for (double work : observation.steps)
    seconds += cost::spreadOverCores(machine, work).seconds;
  return seconds;
}

Spreading fitSpreading(const std::vector<SpreadObservation> &observations, double cores) {
  Spreading best;
  if (cores <= 1)
    return best;
  double least = std::numeric_limits<double>::infinity();
  for (double grain = 1e-6; grain < 2e-3; grain *= 1.15)
    for (int percent = 0; percent <= 100; ++percent) {
      Spreading spreading{percent / 100.0, grain};
      double error = 0;
      for (const SpreadObservation &observation : observations)
        if (observation.whole > 0) {
          error += std::abs(spreadSeconds(observation, spreading, cores) / observation.whole - 1);
        }
      if (!observations.empty() && error < least) {
        least = error;
        best = spreading;
      }
    }
  return best;
}

} // namespace npar::planner
