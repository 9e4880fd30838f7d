// A plan: mesh, micro-batch, rules and the other clauses, each read by a file of its own. Evaluated before the model (which needs the size
// of `batch`), checked against it afterwards.
#pragma once

#include "dsl/Program.h"
#include "dsl/Schedules.h"
#include "dsl/plan/Batch.h"

#include <map>

namespace npar::dsl {

class PlanElaborator {
public:
  PlanElaborator(const KnownSchedules &schedules, Settings &settings, Evaluator &evaluator, Sources &sources, Diagnostics &diagnostics)
      : schedules(schedules), sources(sources), diagnostics(diagnostics),
        reporter(evaluator.reporter), text{evaluator, settings, evaluator.reporter} {}

  /// The plan's own text: mesh, rules and clauses; then D and M from the batch. `source` is null for one rank (`--plan none`), whose place
  /// in messages is the train block, `trainAt`.
  void declare(const ast::Plan *source, const GlobalBatch &batch, Location trainAt);

  /// The rules against the axes, blocks and operations of the model.
  void check(const Model &model);

  Plan plan;
  int64_t world = 0;        ///< ranks that a mesh with `rest` has if no setting gives their number; 0: unknown. Set before `declare`.
  bool isTraining = true;   ///< false: `accumulate` concerns `micro` alone. Set before `declare`.
  int64_t impliedBatch = 0; ///< D * micro * accumulate; 0: one of them is not given

private:
  /// The values of `micro` and `compute`, from the text or from the settings that override it.
  std::map<std::string, const ast::Expression *> clauseValues(const ast::Plan *source);
  static Accumulation forwardOnly(Accumulation accumulation, const MicroSize &micro, int64_t samples);
  /// `blocks` becomes the model's repeats. Of a plan without `for` the names that the model lacks are left out.
  void fitTo(const Model &model);
  void fitPattern(const PlanRule &rule, const Model &model, std::vector<PlanRule> &fitted);
  void warnUnusedMesh();
  void warnIdle();

  const KnownSchedules &schedules;
  Sources &sources;
  Diagnostics &diagnostics;
  Reporter &reporter;
  PlanText text;
  std::vector<PlanRule> rules;
  bool isGeneral = false; ///< the plan is for no model in particular
};

} // namespace npar::dsl
