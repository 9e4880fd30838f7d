// The length of a run, which learning rates in epochs or in shares of the run need.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

struct RunLength {
  std::optional<double> stepsPerEpoch; ///< of the run's batch, not always whole; nothing: the data have no epochs
  std::optional<double> steps;         ///< steps done at the end, those before it included; nothing: unknown
  double offset = 0;                   ///< what the number of a step lacks to the place of its data, in steps of this batch: not 0 after
                                       ///< steps with a batch of another size
};

/// Rounds up to whole steps, except for what is rounding of `count`.
double wholeSteps(double count);

/// True if a learning rate of the program has a length that is known when a run starts only.
bool needsRunLength(const program::Program &program);

/// The numbers of the run that kernels read (program/RateWords.h). BadInput if they need a length that is unknown.
Result<std::vector<double>> runWords(const program::Program &program, const RunLength &length);

/// BadInput if a schedule of the program would end within its warm-up, or `runWords` fails.
Status checkRates(const program::Program &program, const RunLength &length);

/// A sentence for each learning rate that scales with the batch or depends on the run's length, with the numbers that result:
/// "cosine learning rate from 0.004 (0.001 x 128 / 32) to 0 at step 480 (the end of the run), warm-up 12 steps (0.1 epochs)".
std::vector<std::string> rateTexts(const program::Program &program, const RunLength &length);

} // namespace npar::engine
