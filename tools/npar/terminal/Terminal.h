// The driver as the observer of libraries: progress, remarks and warnings go to stderr.
#pragma once

#include "engine/status/Observer.h"

namespace npar::driver {

/// The only one of this process.
engine::Observer &terminal();

} // namespace npar::driver
