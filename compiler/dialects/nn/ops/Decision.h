// The trait of ops that decide: they make integers of floats or sort such integers.
#pragma once

#include "mlir/IR/OpDefinition.h"

namespace npar::nn {

/// The results are kept for the backward pass even if a recomputed segment repeats their operands: a decision that comes out
/// differently the second time, because a library rounds differently, would give the gradients of another function.
template <typename ConcreteType> class Decision : public mlir::OpTrait::TraitBase<ConcreteType, Decision> {};

} // namespace npar::nn
