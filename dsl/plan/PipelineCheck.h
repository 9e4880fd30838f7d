// The pipeline of a plan, made of its rules on repeats: which schedule, from a name or a file, and whether stages, chunks, blocks and
// micro-batches fit together.
#pragma once

#include "dsl/Schedules.h"
#include "dsl/constants/Reporter.h"
#include "dsl/plan/PlanRule.h"

namespace npar::dsl {

/// Reads the rules, the mesh, the number of micro-batches and the model's repeats; makes the pipeline.
class PipelineCheck {
public:
  PipelineCheck(const KnownSchedules &schedules, const std::vector<MeshAxis> &mesh, int64_t microCount, const Model &model,
                Sources &sources, Diagnostics &diagnostics, Reporter &reporter)
      : schedules(schedules), mesh(mesh), microCount(microCount), model(model), sources(sources), diagnostics(diagnostics),
        reporter(reporter) {}

  /// Returns nothing if no rule is on a repeat. Reports errors.
  std::optional<Pipeline> run(const std::vector<PlanRule> &rules);

private:
  /// Joins the rules on repeats: `pipeline`, `chosen` and `blocks`.
  void join(const std::vector<PlanRule> &rules);
  void joinRepeat(const PlanRule &rule, const Repeat &repeat);
  /// No other rule may take the mesh axis of the stages.
  void checkStageAxis(const std::vector<PlanRule> &rules);
  /// All repeats of the model are one chain: a pipeline of some of them would cut it elsewhere than its rule says.
  void checkWhole();
  void readSchedule();
  void checkBlocks();
  void checkCounts();
  void checkMicros();
  const MeshAxis &stages() const;
  /// Tells where the numbers of stages and micro-batches come from.
  std::string originOfNumbers() const;
  int64_t chunks() const;

  const KnownSchedules &schedules;
  const std::vector<MeshAxis> &mesh;
  int64_t microCount;
  const Model &model;
  Sources &sources;
  Diagnostics &diagnostics;
  Reporter &reporter;

  std::optional<Pipeline> pipeline;
  std::optional<ScheduleChoice> chosen; ///< the schedule of the first rule; nothing when it gives none
  const ast::Rule *first = nullptr;     ///< the first rule of the pipeline
  int blocks = 0;                       ///< number of blocks of all its repeats
};

} // namespace npar::dsl
