// The terms of the loss: each is the mean over the positions that count in it, so that dividing is left to who reads the sum of its values,
// where they are counted (RULES.md#N3).
#pragma once

#include "compiler/dialects/nn/Nn.h"

#include <string>

namespace npar::nn {

/// One term, by the names of its variables. Importing writes the module attribute `nn.losses`, a list of {name, weight}; without it there
/// is one term, which is the loss.
struct LossTerm {
  std::string name; ///< empty: it is the only one
  double weight = 1;

  std::string sum() const { return name.empty() ? "#out.loss.sum" : "#out.loss." + name + ".sum"; }
  /// Of the positions that count; the module may have no such variable: all do.
  std::string count() const { return name.empty() ? "#out.valid_tokens" : "#out.counted." + name; }
  /// What a step tells of it, where it has a name.
  std::string output() const { return "#out.loss." + name; }
  /// The result of an evaluation with its values.
  std::string result() const { return name.empty() ? "losses" : "loss." + name; }
};

constexpr const char *lossesAttribute = "nn.losses";
/// On operations that only choose what of a loss counts: they are of the loss's type.
constexpr const char *ofLossAttribute = "of_loss";

llvm::SmallVector<LossTerm> lossTerms(mlir::ModuleOp module);

/// `value` / max(1, positions of the global batch that count) where the module's prologue counts them, an f64 scalar; else `value` itself,
/// which importing has divided. With none at all, loss and gradients are so 0. `builder` must place what it inserts.
mlir::Value perCounted(mlir::OpBuilder &builder, mlir::Location location, mlir::ModuleOp module, const LossTerm &term, mlir::Value value);

} // namespace npar::nn
