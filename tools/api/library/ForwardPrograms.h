// Checks the programs that a host gives to evaluate and to generate with a trainer's parameters.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

namespace npar::api {

/// Usage if a program has another kind, or other parameters than the trainer's program. `member`: the member of npar.h that has it.
engine::Status checkForward(const program::Program &trainer, const program::Program &given, program::ProgramKind kind, const char *member);

} // namespace npar::api
