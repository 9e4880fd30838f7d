// Checks the name of an output of a command that writes one format only.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <string>

namespace npar::driver {

/// Refuses a name whose ending is that of another format than safetensors, such as `full.pt`, which would mislead its readers. A name
/// without an ending, a device and a pipe may be anything.
ExitCode checkSafetensorsName(const std::string &flag, const std::string &path);

} // namespace npar::driver
