// The `split` rules of a plan as data: evaluated before the model, which needs the size of `batch`, so no axis is looked up yet.
#pragma once

#include "dsl/Schedules.h"
#include "dsl/plan/PlanRule.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

class RuleReader {
public:
  RuleReader(const KnownSchedules &schedules, const Sources &sources, PlanText &text)
      : schedules(schedules), sources(sources), text(text), evaluator(text.evaluator), reporter(text.reporter) {}

  /// The rules of the plan, in order, one for each name on the left.
  std::vector<PlanRule> read(const ast::Plan &source);

private:
  void rule(const ast::Rule &source, std::vector<PlanRule> &rules);
  std::optional<ScheduleChoice> schedule(const ast::Rule &source);
  std::optional<ScheduleChoice> way(const ast::Rule &source);
  std::vector<int64_t> counts(const ast::Rule &source);
  double live(const ast::Rule &source);

  const KnownSchedules &schedules;
  const Sources &sources; ///< a schedule's file is found from the text that names it
  PlanText &text;
  Evaluator &evaluator;
  Reporter &reporter;
};

} // namespace npar::dsl
