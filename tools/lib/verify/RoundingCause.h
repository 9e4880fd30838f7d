// Finds the place of a model whose rounding to a 16-bit type causes most of a step's error compared with float64.
#pragma once

#include "engine/runtime/Session.h"
#include "engine/status/Status.h"

#include <functional>
#include <optional>
#include <vector>

namespace npar::verify {

/// Loss and gradients of the first step of a session, without fp16's loss scale.
struct StepValues {
  double loss = 0;
  std::vector<std::vector<double>> gradients;       ///< one per use of a parameter
  std::vector<std::vector<double>> parameters = {}; ///< before the step
};

/// The first step on random data. It starts from parameters that are disturbed and then rounded to a type whose rounding is `rounding`
/// (Equivalence.h), or from those of `start`, which may be null. Both sides then begin with the same numbers and differ only by the
/// rounding of operations.
engine::Result<StepValues> firstStep(engine::Session &session, const program::Program &program, uint64_t seed, double rounding,
                                     const StepValues *start);

/// The square root of the sum of two squares: the relative errors of the loss and, by their norm, of all gradients together. Infinite if a
/// number is not finite.
double distance(const StepValues &values, const StepValues &reference);

struct RoundingCause {
  size_t place = 0;
  double error = 0; ///< with nothing rounded there
};

/// The distance to float64 if nothing is rounded at `count` places, starting with `first`.
using ErrorWithout = std::function<engine::Result<double>(size_t first, size_t count)>;

/// Halves the list as long as one half brings the distance below half of `whole`, the distance with everything rounded: at most two errors
/// are computed for each halving. Nothing if no single place does that. Errors of `error` are returned.
engine::Result<std::optional<RoundingCause>> findRoundingCause(size_t places, double whole, const ErrorWithout &error);

/// The first place, in the order of the model, at which a number leaves the range of the type: `error` is infinite with nothing rounded
/// after that place, and finite if that place is not rounded either. Nothing if it is infinite without any rounding.
engine::Result<std::optional<RoundingCause>> findOverflow(size_t places, const ErrorWithout &error);

} // namespace npar::verify
