// Runs a plan's program beside the one-rank program in float64 and measures how far apart they are (invariant 2).
#pragma once

#include "engine/data/DataSource.h"
#include "engine/runtime/Session.h"
#include "tools/npar/terminal/Outcome.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

struct Check {
  std::string name;
  bool ok = true;
  std::optional<double> maxRelativeError;
  std::string detail;
  double bound = 0;         ///< what the error is allowed to be
  bool isOfOneRank = false; ///< it fails on one rank as well, so no plan is to blame
  bool isUndecided = false; ///< it fails because these numbers prove nothing: others may
};

/// Names of a program's variables of one kind, in program order.
std::vector<std::string> variablesOf(const program::Program &program, program::VariableKind kind);
/// Names of the gradient accumulators, one per use of a parameter.
std::vector<std::string> gradientsOf(const program::Program &program);

/// The largest error of a kind of tensors: per tensor max|a - b| / max(max|b|, 1e-3 * largest entry of the kind, what rounding hides).
class ErrorMeasure {
public:
  explicit ErrorMeasure(std::string name, double bound = 1e-10) : name(std::move(name)), bound(bound) {}
  void add(const std::string &tensor, const std::vector<double> &value, const std::vector<double> &reference);
  /// Accepts a difference of `noise`, which rounding alone explains, also where the value itself is zero.
  void allow(double noise) { allowed = std::max(allowed, noise); }
  Check check() const;

private:
  struct Entry {
    std::string tensor;
    double difference, largest;
    /// The first element that is not finite on one of the two sides; else zeros.
    double value = 0, expected = 0;
  };
  std::string name;
  double bound, allowed = 0;
  std::vector<Entry> entries;
};

/// Adds random numbers to every parameter, the same whatever the plan: a bias that is zero hides what is done wrong to it.
engine::Status disturbParameters(engine::Session &session, const program::Program &program, uint64_t seed);

/// Random data for a check; where the program ignores targets they are masked unevenly over ranks and micro-batches, one of which has none.
std::unique_ptr<engine::DataSource> dataFor(const program::Program &program, uint64_t seed);

/// Measures the largest relative change of losses and gradient norms of `steps` steps of one rank over several draws, in each of which the
/// elements of the disturbed parameters change at random by up to `change` of their tensor's largest. A smooth model changes by about as
/// much; a choice between nearly equal values, or a kink, leaps. `fresh` makes sessions of the one-rank program.
engine::Result<double> sensitivityOf(const std::function<engine::Result<std::unique_ptr<engine::Session>>()> &fresh,
                                     const program::Program &program, int64_t steps, uint64_t seed, double change);

/// The rounding error of a gradient that is zero because its terms, each about as large as the loss, cancel: that of a mean of softmax,
/// say.
double gradientNoise(double loss, double rounding);

/// Half the distance from 1 to the next number of the type that a program computes in: products of tf32 have that of their operands.
double roundingOf(const program::Program &program);

/// Initial parameters, then, disturbed, `steps` optimizer steps of both: appends a check for each kind of tensor.
engine::Status compareSessions(engine::Session &session, engine::Session &reference, const program::Program &program, int64_t steps,
                               uint64_t seed, std::vector<Check> &checks);

/// Losses and gradient norms of `steps` steps of a plan in the type that it computes in, beside the one-rank program in float64, both
/// freshly made: within what the type's mantissa explains. A step that fp16 skips is done again, with half the loss scale.
engine::Status compareOwnType(engine::Session &session, engine::Session &reference, const program::Program &program, int64_t steps,
                              uint64_t seed, std::vector<Check> &checks);

/// `arena_bytes_used == planned` for every rank.
Check checkMemoryUse(const std::vector<engine::ArenaUse> &uses);

/// Directional derivatives of the loss by the one-rank program's gradients against finite differences: for the first and last
/// parameter of each kind (paths equal but for numbers).
engine::Status checkFiniteDifferences(engine::Session &session, const program::Program &program, uint64_t seed, std::vector<Check> &checks);

} // namespace npar::driver
