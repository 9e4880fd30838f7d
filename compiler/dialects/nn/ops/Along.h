// The ops along an axis, for gradients that are made of them: everyone else asks interfaces.
#pragma once

#include "compiler/dialects/nn/ops/Decision.h"
#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Along.h.inc"

namespace npar::nn {
void addAlong(NnDialect &dialect);
} // namespace npar::nn
