// A data block: which files feed which inputs of the model, and the order of their samples.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Evaluate.h"

namespace npar::dsl {

/// Reads a data block for an elaborated model. `scope` has the constants of the block and of the model. `declared` are all inputs in the
/// model's text; inputs that its loss does not need are not fed. Reports errors to the evaluator's reporter.
Data elaborateData(const ast::Data &source, Evaluator &evaluator, Scope &scope, const Model &model,
                   const std::vector<std::string> &declared, const Sources &sources);

/// The inputs that a model's text declares, in conditions too.
std::vector<std::string> declaredInputs(const ast::Block &model);

} // namespace npar::dsl
