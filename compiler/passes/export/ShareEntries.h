// The tables of a program hold each entry once: equal labels, products, collectives and messages of different steps are one.
#pragma once

#include "engine/program/Program_generated.h"

namespace npar::compiler {

/// Renumbers what steps refer to: entries in the order of their first use, equal ones merged, unused ones dropped.
void shareEntries(program::ProgramT &program);

} // namespace npar::compiler
