// The functions of one element that gradients are made of: everyone else asks interfaces.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Function.h.inc"

namespace npar::nn {
void addFunction(NnDialect &dialect);
} // namespace npar::nn
