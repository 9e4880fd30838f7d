// The steps of a data block that prepare pictures: `training: random_crop(pad = 4), flip`.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Evaluate.h"

namespace npar::dsl {

/// Reads the clauses `pictures:`, `training:` and `evaluation:` of a data block into `data`. Reports errors to the evaluator's reporter
/// and throws Stop after one.
void elaborateSteps(const std::vector<ast::DataSteps> &clauses, Evaluator &evaluator, Scope &scope, Data &data);

} // namespace npar::dsl
