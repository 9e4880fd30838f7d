// File names that a file states, such as those of an index or a manifest, are not trusted: they must lead to files of its own folder.
#pragma once

#include "engine/status/Status.h"

#include <string>

namespace npar::program {

/// The path of file `name` in `folder`, or why it is refused: an empty or absolute name, one with `.` or `..` as a part or with bytes
/// that are not printable, and one that leads out of the folder through a symbolic link. A file that is missing is no error here: opening
/// it says so.
engine::Result<std::string> pathInside(const std::string &folder, const std::string &name);

/// A name as messages show it: in quotes, bytes that are not printable as \\x1b, at most 200 of them.
std::string quotedName(const std::string &name);

} // namespace npar::program
