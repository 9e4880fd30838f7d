// Checks the name of an output of a command that writes one format only.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <string>
#include <vector>

namespace npar::driver {

/// Refuses a name whose ending is that of another format than safetensors, such as `full.pt`, which would mislead its readers. A name
/// without an ending, a device and a pipe may be anything.
ExitCode checkSafetensorsName(const std::string &flag, const std::string &path);

/// Empty, or why a name is refused for an output of another format than its ending says: `step.svg` for JSON. `endings` are those that the
/// format may have; endings that npar does not know say nothing.
std::string whyOtherFormat(const std::string &flag, const std::string &path, const std::vector<std::string> &endings);

} // namespace npar::driver
