// Spellings of commands and flags that earlier versions had: they still work, and a warning names the new one.
#pragma once

#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <string>
#include <vector>

namespace npar::driver {

/// Returns the words of a command line, without the program's name, in today's spelling. `driver` has all commands. Prints one warning for
/// each old spelling. Usage where two old flags of `inspect` ask for two views, which are commands of their own now.
Outcome<std::vector<std::string>> inTodaysSpelling(std::vector<std::string> words, const CLI::App &driver);

} // namespace npar::driver
