// A call such as `AdamW(lr = 3e-4, decay = 0.1)`: the declaration it names, its arguments, and the formulas that follow from both.
#pragma once

#include "dsl/Optimizer.h"
#include "dsl/constants/Settings.h"

#include <functional>
#include <optional>

namespace npar::dsl {

/// Finds optimizers in the files that a text sees, then in the standard library.
struct KnownOptimizers {
  struct Found {
    const ast::Optimizer *declaration = nullptr; ///< null if it is missing or has errors
    bool standard = false;                       ///< a text of the standard library has it
  };
  std::function<Found(const std::string &name)> find;
  std::vector<std::string> names; ///< for advice
};

/// A call whose arguments are evaluated.
struct OptimizerCall {
  const ast::Optimizer *declaration = nullptr;
  bool standard = false;
  Location location;
  LearningRate rate;
  std::vector<std::pair<Value, Location>>
      arguments; ///< one per parameter after the learning rate; the place of the call, or of the default
};

/// Reads a call. `settings` (may be null) override its arguments: `optimizer.lr`, `optimizer.decay`. `batch`: samples per step, which
/// `scaled` needs. Throws Stop after reporting.
OptimizerCall readOptimizerCall(const ast::Expression &call, const KnownOptimizers &known, Settings *settings, int64_t batch,
                                Evaluator &evaluator, Scope &scope);

/// The formulas of a call, with another decay if one is given (the declaration then has that argument). `damped`: for comparisons of two
/// programs, a small argument `epsilon` is raised and `sign` has a slope at 0, so that gradients that are zero except for rounding move no
/// parameter. Throws Stop after reporting.
Optimizer elaborateOptimizer(const OptimizerCall &call, std::optional<double> decay, bool damped, Reporter &reporter);

} // namespace npar::dsl
