// The devices that a caller wants kernels for in addition to this processor.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::models {

/// Usage for a device that npar has no kernels for, and for one that is named twice.
engine::Status checkTargets(const std::vector<std::string> &targets);

} // namespace npar::models
