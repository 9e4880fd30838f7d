// Machines from their text.
#pragma once

#include "dsl/Ast.h"
#include "dsl/constants/Reporter.h"
#include "dsl/machine/Machine.h"

#include <optional>

namespace npar::dsl {

/// Checks all figures of a declaration in the text at `path`. The kinds of an uneven machine are files beside it, or in a folder `machines`
/// of the library. Nothing after errors, which are reported.
std::optional<Machine> readMachine(const ast::Machine &source, const std::string &path, const std::vector<std::string> &librarySearch,
                                   Sources &sources, Diagnostics &diagnostics);

/// The machine that a file of .npar text declares; there is one in it. Nothing after errors, which are reported.
std::optional<Machine> loadMachine(const std::string &path, const std::vector<std::string> &librarySearch, Sources &sources,
                                   Diagnostics &diagnostics);

/// The one of stdlib/machines/reference.npar, which is compiled in: what programs are planned for where nobody names another.
const Machine &referenceMachine();

} // namespace npar::dsl
