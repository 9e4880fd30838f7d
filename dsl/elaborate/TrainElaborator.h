// A train block: batch, optimizer with its learning rate, clipping, seed, rules for parameters.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Settings.h"
#include "dsl/elaborate/OptimizerElaborator.h"
#include "dsl/elaborate/ParameterRules.h"

namespace npar::dsl {

struct ElaboratedTrain {
  Train train;
  Location batchAt;                 ///< where the batch is given
  std::vector<OptimizerCall> calls; ///< the train block's own, then those of rules
  std::vector<ParameterRule> rules;
};

/// Errors are in the evaluator's reporter. `damped`: see elaborateOptimizer. `impliedBatch`: the batch if the text leaves it out; 0: it
/// must not.
ElaboratedTrain elaborateTrain(const ast::Train &train, const KnownOptimizers &known, bool damped, int64_t impliedBatch, Settings &settings,
                               Evaluator &evaluator);

} // namespace npar::dsl
