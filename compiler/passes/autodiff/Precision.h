// Consequences of mixed precision for gradients and the update: types of accumulators, the loss scale of fp16.
#pragma once

#include "compiler/dialects/nn/Nn.h"

namespace npar::nn {

/// Reads the attribute `nn.precision` that prepare-precision set. Without it everything has the types of the parameters.
struct Precision {
  /// The symbol of a variable without a parameter. No identifier of a model can have this spelling. Its slot has the name without the `#`.
  static std::string symbolOf(llvm::StringRef slot) { return ("#" + slot).str(); }
  static constexpr llvm::StringLiteral lossScale = "loss_scale"; ///< a slot
  static constexpr double firstLossScale = 65536;
  static constexpr int64_t growthInterval = 2000; ///< good steps in a row after which the scale doubles

  Precision() = default;
  explicit Precision(mlir::ModuleOp module) : attribute(module->getAttrOfType<mlir::DictionaryAttr>("nn.precision")) {}

  bool scalesLoss() const { return given("compute") && given("compute").isF16(); }
  /// Sums of 16-bit floats between ranks round after each addition (`reduce bf16`), not once.
  bool roundsSums() const { return given("reduce") && isNarrow(given("reduce")); }
  /// The type of a parameter's accumulators: the parameter's own, or f32 with `gradients f32`.
  mlir::Type gradientType(mlir::Type parameter) const {
    return isNarrow(parameter) && given("gradients") && !isNarrow(given("gradients"))
               ? mlir::Type(withElement(parameter, given("gradients")))
               : parameter;
  }

private:
  /// The type that the plan gives for a key; null if it gives none.
  mlir::Type given(llvm::StringRef key) const {
    auto type = attribute ? attribute.getAs<mlir::TypeAttr>(key) : mlir::TypeAttr();
    return type ? type.getValue() : mlir::Type();
  }
  mlir::DictionaryAttr attribute;
};

} // namespace npar::nn
