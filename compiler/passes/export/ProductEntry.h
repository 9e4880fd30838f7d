// The entry of a matrix product in the compiled program.
#pragma once

#include "compiler/dialects/rank/Rank.h"
#include "engine/program/Program_generated.h"

#include <memory>

namespace npar::compiler {

/// Sizes, strides, windows and grouping of the product, with operands of `type`.
std::unique_ptr<program::MatmulT> productEntry(rank::MatmulOp matmul, program::ElementType type, program::ElementType result);

} // namespace npar::compiler
