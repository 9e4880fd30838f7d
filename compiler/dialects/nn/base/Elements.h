// The seam's element types as MLIR types, and back: the one place where they meet.
#pragma once

#include "engine/program/Words.h"

#include "mlir/IR/Types.h"

namespace npar::nn {

/// The element type of an element or of a tensor's elements; none for a type that programs cannot hold.
std::optional<program::ElementType> elementTypeOf(mlir::Type elementOrTensor);

mlir::Type typeOf(program::ElementType type, mlir::MLIRContext *context);

} // namespace npar::nn
