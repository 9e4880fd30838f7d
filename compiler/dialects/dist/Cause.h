// Why a collective is there: the compiled program's struct as an attribute, and back.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "engine/program/Program_generated.h"

namespace npar::dist {

CauseAttr attributeOf(mlir::MLIRContext *context, const program::CauseT &cause);

/// Null for null.
std::unique_ptr<program::CauseT> causeOf(CauseAttr attribute);

} // namespace npar::dist
