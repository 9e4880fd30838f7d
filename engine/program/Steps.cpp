// Properties of phases.
#include "engine/program/Steps.h"

namespace npar::program {

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
