// Checks the name of an output of a command that writes one format only.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::files {

/// Refuses names with the ending of another format, such as `full.pt`, which would mislead readers of the safetensors file. Names without
/// an ending, devices and pipes are accepted.
engine::Status checkSafetensorsName(const std::string &flag, const std::string &path);

/// The same for a command that writes a PyTorch file: refuses endings other than `.pt`, `.pth` and `.bin`.
engine::Status checkPytorchName(const std::string &flag, const std::string &path);

/// Why a name is refused because its ending belongs to another format, such as `step.svg` for JSON; empty if it is accepted. `endings`: the
/// endings of the format. Endings unknown to npar are accepted.
std::string whyOtherFormat(const std::string &flag, const std::string &path, const std::vector<std::string> &endings);

} // namespace npar::files
