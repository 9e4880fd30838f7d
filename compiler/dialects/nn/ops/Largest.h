// The ops of the largest entries, for gradients that are made of them.
#pragma once

#include "compiler/dialects/nn/ops/Decision.h"
#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Largest.h.inc"

namespace npar::nn {
void addLargest(NnDialect &dialect);
} // namespace npar::nn
