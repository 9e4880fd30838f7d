// Adds up steps until an epoch ends.
#include "engine/training/EpochSummary.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace npar::training {

void EpochSummary::add(const StepReport &report) {
  ++steps;
  amount += report.amount;
  losses += report.loss;
  seconds += report.seconds + report.waited;
}

std::optional<engine::EpochRecord> EpochSummary::take(int64_t done) {
  if (!wanted() || steps == 0 || !(clock.isDue(Interval::epochs(1), done) || done == clock.steps()))
    return std::nullopt;
  engine::EpochRecord record;
  record.step = done, record.steps = steps;
  // A batch can continue with the next epoch. A run that ends within an epoch has a last record, too.
  record.epoch = clock.isDue(Interval::epochs(1), done) ? std::floor(clock.epochsAfter(done) + 1e-9) : *clock.epochs();
  record.loss = losses / static_cast<double>(steps);
  record.seconds = seconds, record.perSecond = static_cast<double>(amount) / std::max(seconds, 1e-9);
  record.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  if (evaluations.any() && evaluations.lastAt() == done)
    record.values = evaluations.record().values, record.best = evaluations.isBest();
  steps = amount = 0, losses = seconds = 0;
  records.push_back(record);
  return record;
}

} // namespace npar::training
