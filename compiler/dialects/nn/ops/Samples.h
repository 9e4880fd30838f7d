// The ops on samples of a step, for prepare-totals.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Samples.h.inc"

namespace npar::nn {
void addSamples(NnDialect &dialect);
} // namespace npar::nn
