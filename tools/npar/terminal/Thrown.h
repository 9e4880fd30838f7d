// The words and the exit code of an exception that nothing below has caught.
#pragma once

#include "engine/status/Status.h"

namespace npar::driver {

/// The exception that is being handled: memory or threads that the system does not give are a failed run, everything else is a bug of npar.
engine::Status statusOfThrown();

} // namespace npar::driver
