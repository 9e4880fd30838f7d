// The seam's element types as MLIR types, and back: the one place where they meet.
#pragma once

#include "engine/program/Words.h"

#include "mlir/IR/Types.h"

namespace npar::nn {

/// The element type of an element or of a tensor's elements; none for a type that programs cannot hold.
std::optional<program::ElementType> elementTypeOf(mlir::Type elementOrTensor);

mlir::Type typeOf(program::ElementType type, mlir::MLIRContext *context);

/// True for an element type of floats and for a tensor of them.
bool isFloat(mlir::Type elementOrTensor);

/// bf16 or f16: what mixed precision computes in (program::isNarrow).
bool isNarrow(mlir::Type elementOrTensor);

/// The element type that formulas and sums use (program::widened): f32 for bf16 and f16, which are converted as they are loaded and
/// yielded, so that each op rounds once. A type that programs cannot hold stays.
mlir::Type widened(mlir::Type elementOrTensor);

} // namespace npar::nn
