// Checks file names read from a file, such as an index or a manifest, which are not trusted: they must lead to files of its own folder.
#pragma once

#include "engine/status/Status.h"

#include <string>

namespace npar::files {

/// `folder`/`name`; only `name` of an empty folder. To be used instead of std::filesystem's `/`: where libstdc++ runs out of memory in an
/// append, it leaves a path whose destructor crashes.
std::string joined(const std::string &folder, const std::string &name);

/// The path of file `name` in `folder`, or why it is refused: an empty or absolute name, one with `.` or `..` as a part or with bytes that
/// are not printable, and one that leads out of the folder through a symbolic link. A missing file is no error here, but when it is opened.
engine::Result<std::string> pathInside(const std::string &folder, const std::string &name);

/// A name for messages: in quotes, with bytes that are not printable as \\x1b, at most 200 of them.
std::string quotedName(const std::string &name);

} // namespace npar::files
