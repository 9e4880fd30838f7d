// Weighs the fixed cost of a step against the cost of its samples.
#include "engine/training/EvaluationBatch.h"

#include "engine/readable/HumanUnits.h"
#include "engine/show/View.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::training {

using readable::humanBytes;

const char *EvaluationBatch::word() const {
  switch (reason) {
  case BatchReason::Given:
    return "given";
  case BatchReason::Program:
    return "program";
  case BatchReason::Plan:
    return "plan";
  case BatchReason::Data:
    return "data";
  case BatchReason::Memory:
    return "memory";
  case BatchReason::Time:
    return "time";
  }
  return "unknown";
}

std::string EvaluationBatch::text(int64_t there, uint64_t room) const {
  std::string many = fmt::format("{}{} sample{} at a time", samples, there > samples ? fmt::format(" of {}", there) : "",
                                 samples == 1 && there <= samples ? "" : "s");
  switch (reason) {
  case BatchReason::Given:
    return many + ", as set";
  case BatchReason::Program:
    return many + ", as the program was compiled";
  case BatchReason::Plan:
    return many + ", by the plan's micro-batches";
  case BatchReason::Data:
    return many + ": all samples";
  case BatchReason::Memory:
    return many + fmt::format(": more would need over {}, a quarter of the free memory", readable::humanBytes(static_cast<double>(room)));
  case BatchReason::Time:
    return many + ": more would hardly be faster";
  }
  return many;
}

EvaluationBatch chooseBatch(const StepCost &one, const StepCost &several, int64_t there, uint64_t room) {
  constexpr double share = 0.05; // largest fixed part of a step's time
  constexpr double most = 65536;
  double more = static_cast<double>(several.batch - one.batch);
  double bytesEach = std::max(1.0, (static_cast<double>(several.bytes) - static_cast<double>(one.bytes)) / more);
  double secondsEach = (several.seconds - one.seconds) / more;
  double fixed = std::max(0.0, one.seconds - secondsEach * static_cast<double>(one.batch));
  double quick = secondsEach > 0 ? fixed / (share * secondsEach) : most;
  double base = static_cast<double>(one.bytes) - bytesEach * static_cast<double>(one.batch);
  double fitting = std::floor((static_cast<double>(room) - base) / bytesEach);
  auto byTime = static_cast<int64_t>(std::exp2(std::ceil(std::log2(std::clamp(quick, 1.0, most)))));
  auto byMemory = static_cast<int64_t>(std::clamp(fitting, 1.0, most));
  int64_t chosen = std::min(byTime, byMemory);
  BatchReason reason = byMemory < byTime ? BatchReason::Memory : BatchReason::Time;
  if (there > 0 && there <= chosen)
    return {there, BatchReason::Data};
  if (there > 0) {
    int64_t steps = (there + chosen - 1) / chosen;
    chosen = (there + steps - 1) / steps;
  }
  return {chosen, reason};
}

} // namespace npar::training
