// Reads and checks `central true`: one rank holds the optimizer for all ranks with samples (DataParallel).
#pragma once

#include "dsl/plan/Batch.h"
#include "dsl/plan/PlanRule.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// `value` is that of `central`; null: the plan does not have it. Nothing where the batch is on a single rank.
std::optional<Servers> readServers(const ast::Expression *value, const DataParallel &data, PlanText &text);

/// Reports the clauses of a plan that do not fit ranks that hold the optimizer for others.
void checkServers(const Plan &plan, const std::vector<PlanRule> &rules, Reporter &reporter);

} // namespace npar::dsl
