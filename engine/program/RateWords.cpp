// Counts the words of the run that kernels read.
#include "engine/program/RateWords.h"

#include "engine/program/Program_generated.h"

#include <cmath>
#include <utility>

namespace npar::program {

size_t runWordsOf(const Program &program) {
  size_t count = 0;
  for (uint32_t i = 0; program.rates() && i < program.rates()->size(); ++i)
    count += program.rates()->Get(i)->word() < 0 ? 0 : rateWords;
  return count;
}

size_t contextWordsOf(const Program &program) { return 3 + program.mesh()->size() + runWordsOf(program); }

std::string wrongRate(const Program &program) {
  int next = 0;
  for (uint32_t i = 0; program.rates() && i < program.rates()->size(); ++i) {
    const LearningRate &rate = *program.rates()->Get(i);
    for (const RateLength *length : {rate.warmup(), rate.steps(), rate.every()})
      if (length->unit() > LengthUnit::MAX || !std::isfinite(length->count()) || length->count() < 0)
        return "learning rate " + std::to_string(i) + " has a length of " + std::to_string(length->count());
    if (rate.schedule() > RateSchedule::MAX)
      return "learning rate " + std::to_string(i) + " has an unknown schedule";
    if (rate.word() >= 0 && rate.word() != std::exchange(next, next + rateWords))
      return "learning rate " + std::to_string(i) + " has the words of the run from " + std::to_string(rate.word()) + " on";
  }
  return std::isfinite(program.epochs()) && program.epochs() >= 0 ? ""
                                                                  : "the program asks for " + std::to_string(program.epochs()) + " epochs";
}

} // namespace npar::program
