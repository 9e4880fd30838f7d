// Machines from their text.
#pragma once

#include "dsl/Ast.h"
#include "dsl/constants/Reporter.h"
#include "dsl/machine/Machine.h"

#include <optional>

namespace npar::dsl {

/// Checks all figures of a declaration; nothing after errors.
std::optional<Machine> readMachine(const ast::Machine &source, Reporter &reporter);

/// The machine that a file of .npar text declares; there is one in it. Nothing after errors, which are reported.
std::optional<Machine> loadMachine(const std::string &path, Sources &sources, Diagnostics &diagnostics);

/// The one of stdlib/machines/reference.npar, which is compiled in: what programs are planned for where nobody names another.
const Machine &referenceMachine();

} // namespace npar::dsl
