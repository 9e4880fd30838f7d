// Consequences of mixed precision for gradients and the update: types of accumulators, the loss scale of fp16.
#pragma once

#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/dialects/nn/Nn.h"
#include "engine/program/Elements.h"

namespace npar::compiler {

/// Reads the attribute `nn.precision` that prepare-precision set. Without it everything has the types of the parameters.
struct Precision {
  /// The symbol of a variable without a parameter. No identifier of a model can have this spelling. Its slot has the name without the `#`.
  static std::string symbolOf(llvm::StringRef slot) { return ("#" + slot).str(); }
  static constexpr llvm::StringLiteral lossScale = "loss_scale"; ///< a slot
  static constexpr double firstLossScale = 65536;
  static constexpr int64_t growthInterval = 2000; ///< good steps in a row after which the scale doubles

  Precision() = default;
  explicit Precision(mlir::ModuleOp module) {
    if (std::optional<attributes::PrecisionClause> clause = attributes::getPrecision(module))
      compute = clause->compute, gradients = clause->gradients, reduce = clause->reduce;
  }

  bool scalesLoss() const {
    std::optional<program::ElementType> element = compute ? nn::elementTypeOf(compute) : std::nullopt;
    return element && program::hasSmallRange(*element);
  }
  /// Sums of 16-bit floats between ranks round after each addition (`reduce bf16`), not once.
  bool roundsSums() const { return reduce && nn::isNarrow(reduce); }
  /// The type of a parameter's accumulators: the parameter's own, or f32 with `gradients f32`.
  mlir::Type gradientType(mlir::Type parameter) const {
    return nn::isNarrow(parameter) && gradients && !nn::isNarrow(gradients) ? mlir::Type(nn::withElement(parameter, gradients)) : parameter;
  }

private:
  mlir::Type compute, gradients, reduce; ///< as the plan gives them; null if it does not
};

} // namespace npar::compiler
