// What a plan computes again in the backward pass instead of keeping it.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// `source` is null for one rank, which recomputes nothing; the setting `recompute` overrides the text.
Recompute readRecompute(const ast::Plan *source, PlanText &text);

/// Whether the model has what is to be recomputed.
void checkRecompute(const Recompute &recompute, const Model &model, Reporter &reporter);

} // namespace npar::dsl
