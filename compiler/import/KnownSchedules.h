// Tells the front end which schedules compiler/schedules has, so that a new one needs no edit in dsl.
#pragma once

#include "dsl/Schedules.h"

namespace npar::compiler {

/// All kinds of `schedules::scheduleKinds()`, and the reader of schedules as text.
dsl::KnownSchedules knownSchedules();

} // namespace npar::compiler
