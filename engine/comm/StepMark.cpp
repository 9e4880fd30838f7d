// Both values in words.
#include "engine/comm/StepMark.h"

#include <cstdio>

namespace npar::engine {

namespace {

std::string textOf(uint32_t process, const StepMark &mark) {
  char hash[17];
  std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(mark.program));
  return "process " + std::to_string(process) + " is in step " + std::to_string(mark.trainingStep) + " of program " + hash;
}

} // namespace

std::string differenceOf(uint32_t process, const StepMark &own, uint32_t other, const StepMark &theirs) {
  if (own == theirs)
    return "";
  return textOf(process, own) + ", " + textOf(other, theirs) + ": processes of one job must run the same step of the same program";
}

} // namespace npar::engine
