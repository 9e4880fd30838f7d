// Reads a shell script that starts a training run: the flags that reach the training program, and the devices that its launcher is given.
#pragma once

#include "tools/lib/foreign/ForeignFile.h"

#include <functional>
#include <map>

namespace npar::foreign {

/// Values for variables that a script leaves open, by name; "1" is the first argument of the script.
using GivenVariables = std::map<std::string, std::string>;

/// The text of a file that the script wrote, or of one next to it.
struct ReferencedText {
  std::string text;
  std::optional<UnknownValue> unknown; ///< nothing: all of the text is known
};

struct ShellRun {
  std::vector<ForeignEntry> entries;
  std::vector<std::string> assumed;            ///< sentences
  std::map<std::string, ReferencedText> texts; ///< of the files that entries name, by their values
};

/// Follows the script at `path`, whose text is file `file` of the sources. Nothing is executed. Files next to the script that it reads are
/// added to the sources. `isReference`: tells whether an entry names a file whose text is asked for.
ShellRun readShellRun(const std::string &path, uint32_t file, const GivenVariables &given,
                      const std::function<bool(const ForeignEntry &)> &isReference, dsl::Sources &sources, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
