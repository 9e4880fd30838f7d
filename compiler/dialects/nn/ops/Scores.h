// The formulas of attention's scores: few passes name them.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

#include "mlir/IR/SymbolTable.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Scores.h.inc"

namespace npar::nn {
void addScores(NnDialect &dialect);
} // namespace npar::nn
