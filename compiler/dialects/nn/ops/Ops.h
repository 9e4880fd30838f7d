// The classes of all nn ops.
#pragma once

#include "compiler/dialects/nn/base/Base.h"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/NnOps.h.inc"

namespace npar::nn {

// Each family adds its ops to the dialect: one function per .td, in the .cpp of that name.
void addAttention(NnDialect &dialect);
void addCrossEntropy(NnDialect &dialect);
void addDropout(NnDialect &dialect);
void addEinsum(NnDialect &dialect);
void addElementwise(NnDialect &dialect);
void addGather(NnDialect &dialect);
void addNorm(NnDialect &dialect);
void addReduce(NnDialect &dialect);
void addRingAttention(NnDialect &dialect);
void addSelect(NnDialect &dialect);
void addUpdate(NnDialect &dialect);
void addVariable(NnDialect &dialect);

/// Registers the ops of one family. Each family does so in its own file, because registration is most of the dialect's compile time.
template <typename... Ops> void addOps(NnDialect &dialect) { (mlir::RegisteredOperationName::insert<Ops>(dialect), ...); }

} // namespace npar::nn
