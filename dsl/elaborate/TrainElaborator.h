// A train block: batch, optimizer with its learning rate, clipping, seed.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Settings.h"

namespace npar::dsl {

struct ElaboratedTrain {
  Train train;
  Location batchAt; ///< where the batch is given
};

/// Errors are in the evaluator's reporter.
ElaboratedTrain elaborateTrain(const ast::Train &train, Settings &settings, Evaluator &evaluator);

} // namespace npar::dsl
