// Reads the values that a plan computes again in the backward pass instead of keeping them.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// `source` is null for one rank, which recomputes nothing; the setting `recompute` overrides the text.
Recompute readRecompute(const ast::Plan *source, PlanText &text);

/// Checks that the model has the layers or operations that are to be recomputed.
void checkRecompute(const Recompute &recompute, const Model &model, Reporter &reporter);

} // namespace npar::dsl
