// Finds the text of a machine by the word after --machine, and keeps this machine's own text.
#pragma once

#include "dsl/SourceProvider.h"
#include "dsl/machine/Machine.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"

#include <optional>
#include <string>

namespace npar::planner {

/// What the word stands for: the path of a text, or nothing for the reference machine. A file, `here`, or a machine of the standard library
/// by name. `here` is measured where it has not been yet.
engine::Result<std::optional<std::string>> machineFile(const std::string &word, engine::Observer &observer);

/// The machine of a text; of nothing the reference machine. Errors have locations; `observer` gets warnings. `texts`: where the text comes
/// from, as `dsl::Sources` take it.
engine::Result<dsl::Machine> readMachineFile(const std::optional<std::string> &path, engine::Observer &observer,
                                             dsl::TextsPointer texts = nullptr);

/// Leaves `devices` of each host to ranks; 0: all of them. Usage with both numbers if a host has fewer.
engine::Status limitDevices(dsl::Machine &machine, int64_t devices);

/// $XDG_CACHE_HOME/npar/machines/HOST.npar, else in ~/.cache; empty where neither variable is set.
std::string herePath();

/// Tells whether there is a text at `path` that describes no machine, which a machine's text must not replace.
bool replacesOtherText(const std::string &path);

/// The name of this host, as a file's.
std::string hostName();

/// Writes a machine's text, whole or not at all. `remark`: what its first line says.
engine::Status writeMachineFile(const std::string &path, const dsl::Machine &machine, const std::string &remark);

} // namespace npar::planner
