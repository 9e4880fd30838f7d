// Reads a shell script that starts a training run: the flags that reach the training program, and the devices that its launcher is given.
#pragma once

#include "tools/lib/foreign/ForeignFile.h"

#include <map>

namespace npar::foreign {

/// Values for variables that a script leaves open, by name; "1" is the first argument of the script.
using GivenVariables = std::map<std::string, std::string>;

struct ShellRun {
  std::vector<ForeignEntry> entries;
  std::vector<std::string> assumed; ///< sentences
};

/// Follows the script at `path`, whose text is file `file` of the sources. Nothing is executed. Files next to the script that it reads are
/// added to the sources.
ShellRun readShellRun(const std::string &path, uint32_t file, const GivenVariables &given, dsl::Sources &sources,
                      dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
