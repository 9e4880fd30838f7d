// Where the path that a person names for an output leads, so that writing there does what the name says.
#pragma once

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

} // namespace npar::program
