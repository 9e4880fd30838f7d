// The terms of the loss. Each term is a mean over the positions that count. If the positions are counted, the program stores the sum of the
// values and its readers divide (RULES.md#N3).
#pragma once

#include "compiler/dialects/nn/Nn.h"

#include <string>

namespace npar::nn {

/// A term of the loss and the names of its variables.
struct LossTerm {
  std::string name; ///< empty if it is the only term
  double weight = 1;
  int64_t parts = 1; ///< accumulators whose sum it is: several if layers on different stages of a pipeline add to them

  std::string sum(int64_t part = 0) const {
    return (name.empty() ? "#out.loss.sum" : "#out.loss." + name + ".sum") + (part == 0 ? "" : "." + std::to_string(part));
  }
  /// Returns whether a variable is one of its accumulators.
  bool hasSum(llvm::StringRef variable) const;
  /// The variable that counts positions. A module without it counts all positions.
  std::string count() const { return name.empty() ? "#out.valid_tokens" : "#out.counted." + name; }
  /// The output that reports the term at each step, if the term has a name.
  std::string output() const { return "#out.loss." + name; }
  /// The name of the result in which an evaluation returns the term's values.
  std::string result() const { return name.empty() ? "losses" : "loss." + name; }
};

/// Returns whether a variable is an accumulator of any term.
inline bool isSumOfLoss(llvm::StringRef variable) {
  return variable.starts_with("#out.loss.") && (variable + ".").str().find(".sum.") != std::string::npos;
}

/// Marks operations that only select the values that count in a loss; they have the loss's type.
constexpr const char *ofLossAttribute = "of_loss";

/// Reads the module attribute `nn.losses`, a list of {name, weight, parts}. Without it there is a single term, which is the loss.
llvm::SmallVector<LossTerm> lossTerms(mlir::ModuleOp module);
void setLossTerms(mlir::ModuleOp module, llvm::ArrayRef<LossTerm> terms);

/// `value` / max(1, positions of the global batch that count) if the module's prologue counts them, an f64 scalar; otherwise `value`, which
/// importing has already divided. If no position counts, loss and gradients are therefore 0. `builder` must place the ops that it inserts.
mlir::Value perCounted(mlir::OpBuilder &builder, mlir::Location location, mlir::ModuleOp module, const LossTerm &term, mlir::Value value);

} // namespace npar::nn
