// Reads `experts buffer 2.0`: how many rows ranks reserve for experts, as a multiple of those of a balanced load.
#pragma once

#include "dsl/plan/PlanRule.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

struct ExpertBuffer {
  double size = 0; ///< 0: none, rows for the worst case
  Location at;
};

ExpertBuffer readExpertBuffer(const ast::Plan &source, PlanText &text);

/// Checks that the model sends rows to experts. Warns if the load is balanced in any case, since each rank has all experts; `rules` are
/// those of the model. A plan of any model (`isGeneral`) is only warned of.
void checkExpertBuffer(const ExpertBuffer &buffer, const std::vector<PlanRule> &rules, const Model &model, bool isGeneral,
                       Reporter &reporter);

} // namespace npar::dsl
