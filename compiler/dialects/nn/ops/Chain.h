// Products and quotients in gradients of functions of one element (RULES.md#N10), and the rule as a formula.
#pragma once

#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Ops.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Chain.h.inc"

namespace npar::nn {
void addChain(NnDialect &dialect);
/// dy * slope, 0 where dy is 0.
Scalar chain(Scalar dy, Scalar slope);
Scalar isZero(Scalar x);
} // namespace npar::nn
