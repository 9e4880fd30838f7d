// The ops on integers and truth values, for gradients that choose: everyone else asks interfaces.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Integer.h.inc"

namespace npar::nn {
void addInteger(NnDialect &dialect);
} // namespace npar::nn
