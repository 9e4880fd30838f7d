// Which phases run per micro-batch.
#include "engine/program/Steps.h"

namespace npar::program {

bool runsPerMicro(Phase phase) { return phase != Phase::Prologue && phase != Phase::Update; }

} // namespace npar::program
