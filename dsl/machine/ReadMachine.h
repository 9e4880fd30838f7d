// Machines from their text.
#pragma once

#include "dsl/Ast.h"
#include "dsl/constants/Reporter.h"
#include "dsl/machine/Machine.h"

#include <optional>

namespace npar::dsl {

/// Checks all figures of a declaration in the text at `path`. The kinds of an uneven machine are files in the same folder, or in a folder
/// `machines` of the library. Returns nothing after errors, which are reported.
std::optional<Machine> readMachine(const ast::Machine &source, const std::string &path, const std::vector<std::string> &librarySearch,
                                   Sources &sources, Diagnostics &diagnostics);

/// The machine that a file of .npar text declares; the file must have exactly one. Returns nothing after errors, which are reported.
std::optional<Machine> loadMachine(const std::string &path, const std::vector<std::string> &librarySearch, Sources &sources,
                                   Diagnostics &diagnostics);

/// The machine of stdlib/machines/reference.npar, which is compiled in. Programs are planned for it if no other machine is given.
const Machine &referenceMachine();

} // namespace npar::dsl
