// Finds where the path that a user names for an output leads, so that the output goes there.
#pragma once

#include "engine/status/Status.h"

#include <string>

namespace npar::files {

struct Destination {
  /// Absolute path, with symbolic links followed, even if the last one leads to no file yet.
  std::string path;
  /// The descriptor of this process that the path refers to (/dev/stdout, /dev/fd/3, /proc/self/fd/3); -1 if none.
  int descriptor = -1;
  /// True for a descriptor, device or pipe, which must be written to directly: renaming a file over it would replace it.
  bool direct = false;
};

Destination destinationOf(const std::string &path);

/// Opens a direct destination for writing. A pipe may take 60 s to get its reader; a signal that this thread blocks ends the wait. `path`:
/// its name in messages.
engine::Result<int> openDirect(const Destination &destination, const std::string &path);

} // namespace npar::files
