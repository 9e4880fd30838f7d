// The language's enumerations as the seam's: the one place where they meet.
#pragma once

#include "dsl/Program.h"
#include "engine/program/Words.h"

namespace npar {

program::ElementType seamOf(dsl::ElementType type);
program::InitKind seamOf(dsl::InitKind kind);
program::CheckpointRuleKind seamOf(dsl::CheckpointRuleKind kind);

} // namespace npar
