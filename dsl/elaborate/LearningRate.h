// Reads a learning rate: a number, or a schedule such as `cosine(5e-5, warmup = 0.1 epochs)`.
#pragma once

#include "dsl/Optimizer.h"
#include "dsl/constants/Evaluate.h"

#include <string>
#include <vector>

namespace npar::dsl {

/// The name in `Name(arguments)`; anything else is an error that lists `names`. `what`: "an optimizer".
const ast::Expression &calleeOf(const ast::Expression &call, const std::string &what, const std::vector<std::string> &names,
                                Reporter &reporter);

/// `batch`: samples per training step, for `scaled`. Throws Stop after reporting.
LearningRate readLearningRate(const ast::Expression &rate, int64_t batch, Evaluator &evaluator, Scope &scope);

} // namespace npar::dsl
