// The ops that count and find choices, for the loops that codegen has for them.
#pragma once

#include "compiler/dialects/nn/ops/Decision.h"
#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Counts.h.inc"

namespace npar::nn {
void addCounts(NnDialect &dialect);
} // namespace npar::nn
