// Finds the variables of a script that hold flags for a program.
#pragma once

#include "tools/lib/foreign/shell/Syntax.h"

#include <set>

namespace npar::foreign::shell {

/// Adds the variables that commands of `source` set to a text that begins with a dash, whether or not the commands run.
void addFlagVariables(const Commands &commands, const std::string &source, std::set<std::string> &names);

} // namespace npar::foreign::shell
