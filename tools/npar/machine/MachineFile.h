// Where machines are: the word after --machine to a text, and this machine's own text.
#pragma once

#include "dsl/machine/Machine.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <string>

namespace npar::driver {

/// The flag --machine, for commands that plan; its word is `model.machine` until `findMachine` has put a path there.
void addMachineTo(CLI::App &app, ModelOptions &model);

/// Finds the machine that the flag names, if there is one. What a compiled program is given stays, to be refused.
ExitCode findMachine(ModelOptions &model);

/// What the word stands for: the path of a text, or nothing for the reference machine. A file, `here`, or a machine of the standard library
/// by name. `here` is measured where it has not been yet.
Outcome<std::optional<std::string>> machineFile(const std::string &word);

/// The machine of a text; of nothing the reference machine. Errors are printed.
Outcome<dsl::Machine> readMachineFile(const std::optional<std::string> &path);

/// $XDG_CACHE_HOME/npar/machines/HOST.npar, else in ~/.cache; empty where neither variable is set.
std::string herePath();

/// Tells whether there is a text at `path` that describes no machine, which a machine's text must not replace.
bool replacesOtherText(const std::string &path);

/// The name of this host, as a file's.
std::string hostName();

/// Writes a machine's text, whole or not at all. `remark`: what its first line says.
ExitCode writeMachineFile(const std::string &path, const dsl::Machine &machine, const std::string &remark);

} // namespace npar::driver
