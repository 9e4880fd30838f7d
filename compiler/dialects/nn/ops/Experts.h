// The ops of routed rows, for gradients that are made of them and for the export of grouped products.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Experts.h.inc"

namespace npar::nn {
void addExperts(NnDialect &dialect);
} // namespace npar::nn
