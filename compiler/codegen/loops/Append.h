// nn.append has a nest of its own: chunks of columns of each state, into which rows go where positions say.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

bool isAppend(rank::KernelOp kernel);
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitAppend(rank::KernelOp kernel);
int64_t appendExtent(rank::KernelOp kernel);

} // namespace npar::codegen
