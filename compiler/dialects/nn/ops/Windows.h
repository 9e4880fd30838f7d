// The op of windows, for gradients that are made of it and for products that read through it.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Windows.h.inc"

namespace npar::nn {
void addWindows(NnDialect &dialect);
} // namespace npar::nn
