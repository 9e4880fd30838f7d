// Rules of a train block for parameters by their paths: which are frozen, which have a learning rate or a decay of their own, which are a
// group in logs.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Evaluate.h"
#include "dsl/elaborate/OptimizerElaborator.h"

namespace npar::dsl {

struct ParameterPattern {
  std::string text;
  Location location;
};

struct ParameterRule {
  bool freeze = false;
  std::vector<ParameterPattern> patterns, except;
  std::string group;    ///< its label in logs: the name given, or the patterns
  bool isNamed = false; ///< the label is given
  std::optional<double> rate, decay;
  std::optional<size_t> optimizer; ///< the number of its call
  bool freezesStatistics = false;  ///< batch norm whose states it matches normalises by them, and they keep their values
  Location location;
};

/// The rules whose conditions hold, in order. Errors are in the evaluator's reporter. `optimizer` reads a call and numbers it.
std::vector<ParameterRule> readParameterRules(const std::vector<ast::ParameterRule> &rules, Evaluator &evaluator, Scope &scope,
                                              const std::function<size_t(const ast::Expression &)> &optimizer);

/// Tells whether a rule freezes the statistics of a `batch_norm` whose running mean has this path.
bool freezeStatistics(const std::vector<ParameterRule> &rules, const std::string &path);
/// Checks that each rule that freezes statistics names one of these running means, which are all of the model.
void checkFrozenStatistics(const std::vector<ParameterRule> &rules, const std::vector<std::string> &paths, Reporter &reporter);

/// Fills `parameters`, `groups` and `optimizers` of the train block. Every pattern must match a parameter and some parameter must be
/// trained. Of several `for` rules that match a parameter the last one that gives a value holds for it, and the last one of all is its
/// group.
void applyParameterRules(const std::vector<ParameterRule> &rules, const std::vector<OptimizerCall> &calls, bool damped, Reporter &reporter,
                         const Model &model, Train &train);

} // namespace npar::dsl
