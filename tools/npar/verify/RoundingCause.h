// Finds the place of a model whose rounding to a 16-bit type makes most of what a step loses against float64.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/npar/terminal/Outcome.h"

#include <functional>
#include <optional>
#include <vector>

namespace npar::driver {

/// Loss and gradients of the first step of a session, without fp16's loss scale.
struct StepValues {
  double loss = 0;
  std::vector<std::vector<double>> gradients;       ///< one per use of a parameter
  std::vector<std::vector<double>> parameters = {}; ///< before the step
};

/// The first step on random data, from parameters that are disturbed and then rounded to a type whose rounding is `rounding`
/// (Equivalence.h), or from those of `start`, which may be null: both sides begin with the same numbers, so only what operations round
/// differs.
engine::Result<StepValues> firstStep(engine::Session &session, const program::Program &program, uint64_t seed, double rounding,
                                     const StepValues *start);

/// The square root of the sum of two squares: the relative errors of the loss and, by their norm, of all gradients together. Infinite where
/// a number is not finite.
double distance(const StepValues &values, const StepValues &reference);

struct RoundingCause {
  size_t place = 0;
  double error = 0; ///< with nothing rounded there
};

/// `error(first, count)` is the distance to float64 where nothing is rounded at `count` places from `first` on, `whole` that where
/// everything is. The list is halved as long as one half brings the distance below half of `whole`: at most two errors for each halving.
/// Nothing where no place alone does. An error's exit code is handed on.
Outcome<std::optional<RoundingCause>> findRoundingCause(size_t places, double whole,
                                                        const std::function<Outcome<double>(size_t first, size_t count)> &error);

/// The first place, in the order of the model, at which a number leaves the range of the type: `error` is infinite where nothing from the
/// place after it on is rounded, and finite where that place is not rounded either. Nothing where it is infinite without any rounding.
Outcome<std::optional<RoundingCause>> findOverflow(size_t places, const std::function<Outcome<double>(size_t first, size_t count)> &error);

} // namespace npar::driver
