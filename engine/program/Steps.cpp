// Properties of phases.
#include "engine/program/Steps.h"

#include <algorithm>

namespace npar::program {

bool isInPair(const RankClass &rankClass, uint32_t task) {
  return overlaps(*rankClass.tasks()->Get(task)) || (task + 1 < rankClass.tasks()->size() && overlaps(*rankClass.tasks()->Get(task + 1)));
}

double plannedSeconds(const Fragment &fragment) {
  double seconds = 0;
  for (const Step *step : *fragment.steps())
    seconds = std::max(seconds, step->end());
  return seconds;
}

bool runsPerMicro(Phase phase) {
  switch (phase) {
  case Phase::Prologue:
  case Phase::Update:
    return false;
  case Phase::Count:
  case Phase::Forward:
  case Phase::Backward:
  case Phase::Weight:
    break;
  }
  return true;
}

bool isWork(Phase phase) {
  switch (phase) {
  case Phase::Forward:
  case Phase::Backward:
  case Phase::Weight:
    return true;
  case Phase::Prologue:
  case Phase::Count:
  case Phase::Update:
    break;
  }
  return false;
}

} // namespace npar::program
