// Words the failure of an operating-system call on a file.
#pragma once

#include "engine/status/Status.h"

#include <cstring>
#include <string>

namespace npar::files {

/// "cannot WHAT 'PATH': REASON", for the value of errno.
inline engine::Status fileFailure(const std::string &what, const std::string &path, int error) {
  return engine::Status::badInput("cannot " + what + " '" + path + "': " + std::strerror(error));
}

} // namespace npar::files
