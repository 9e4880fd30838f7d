// Where the path that a person names for an output leads, so that writing there does what the name says.
#pragma once

#include "engine/status/Status.h"

#include <string>

namespace npar::program {

struct Destination {
  /// Absolute, with symbolic links followed, also where the last one leads to no file yet.
  std::string path;
  /// The descriptor of this process that the path is another name of (/dev/stdout, /dev/fd/3, /proc/self/fd/3); -1 when it is none.
  int descriptor = -1;
  /// A descriptor, device or pipe, which is written to directly: a file that were renamed over it would take its place.
  bool direct = false;
};

Destination destinationOf(const std::string &path);

/// Opens a direct destination to write to it. A pipe may take 60 s to get its reader; a signal that this thread holds back ends the wait.
/// `path`: its name in messages.
engine::Result<int> openDirect(const Destination &destination, const std::string &path);

} // namespace npar::program
