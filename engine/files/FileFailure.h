// Words the failure of an operating-system call on a file.
#pragma once

#include "engine/status/Status.h"

#include <cerrno>
#include <cstring>
#include <string>

namespace npar::files {

/// "cannot WHAT 'PATH': REASON", for the value of errno. Without memory, the run has failed and not the input.
inline engine::Status fileFailure(const std::string &what, const std::string &path, int error) {
  if (error == ENOMEM)
    return engine::Status::runFailed("not enough memory");
  return engine::Status::badInput("cannot " + what + " '" + path + "': " + std::strerror(error));
}

} // namespace npar::files
