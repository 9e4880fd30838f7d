// Building blocks of several schedules.
#pragma once

#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

/// The schedule without the micro-batches from `micros` on. It stays valid, because no remaining task needs a removed one.
Schedule keepFirst(Schedule schedule, int micros);

/// A stage's list of a zero-bubble schedule with one chunk: `forwards` of them first, then in turn a backward, the W of `delay`
/// micro-batches before, and a forward, as long as there are any (Qi et al. 2023, figures 2 and 3).
std::vector<Task> delayWeights(int micros, int forwards, int delay);

/// The bubble of a schedule that has none with enough micro-batches: the first micro-batch needs `way` tasks of a third of a pass through
/// the stages and back, and the stage has `micros` forwards to do meanwhile.
double fillingWaits(double way, double micros);

} // namespace npar::schedules
