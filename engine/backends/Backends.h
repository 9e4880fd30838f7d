// The backends that exist, by name.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// "cpu" or "null"; anything else is refused with the list.
Result<std::unique_ptr<Backend>> createBackend(const std::string &name, const Spread &spread);

} // namespace npar::engine
