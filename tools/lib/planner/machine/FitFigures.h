// Figures from observations: least squares without negative times.
#pragma once

#include <cstddef>
#include <vector>

namespace npar::planner {

/// The model counts `counts` of each unknown in a step that took `seconds`.
struct Equation {
  std::vector<double> counts;
  double seconds = 0;
  double weight = 1;
};

/// Not negative values of the unknowns (at most 8) that come closest to the equations: the errors' squares are weighted by 1 / seconds,
/// between equal errors and equal shares, so that neither long nor short steps decide alone. An unknown that no equation counts is 0; all
/// are without any equation.
std::vector<double> fitNotNegative(const std::vector<Equation> &equations, size_t unknowns);

/// The values in the same proportions, so that the sum of all equations is right: errors of single steps may be large, those of whole
/// training steps must not.
std::vector<double> scaledToSum(const std::vector<Equation> &equations, std::vector<double> values);

/// The seconds of an equation by these values.
double predicted(const Equation &equation, const std::vector<double> &values);

/// The machine's figures for work that is spread over cores (cost::spreadOverCores).
struct Spreading {
  double share = 0, grain = 0;
};

/// Training steps as they were measured: with one worker each program step by itself, with `cores` workers the whole.
struct SpreadObservation {
  std::vector<double> steps; ///< seconds of each with one worker
  double whole = 0;          ///< seconds of all of them with `cores` workers
};

/// The spreading whose sums come closest to the measured ones: the least sum of relative errors, not of their squares, so that one
/// disturbed observation does not matter. Without a second core or an observation, nothing is gained.
Spreading fitSpreading(const std::vector<SpreadObservation> &observations, double cores);

/// Seconds of all steps of an observation under a spreading.
double spreadSeconds(const SpreadObservation &observation, const Spreading &spreading, double cores);

} // namespace npar::planner
