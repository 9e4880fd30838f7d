// The seam's element types as MLIR types, and back: the one place where they meet.
#pragma once

#include "engine/program/Words.h"

#include "mlir/IR/Types.h"

namespace npar::nn {

/// Of an element or of a tensor; none for a type that no program holds.
std::optional<program::ElementType> elementTypeOf(mlir::Type elementOrTensor);

mlir::Type typeOf(program::ElementType type, mlir::MLIRContext *context);

} // namespace npar::nn
