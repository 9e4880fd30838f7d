// A plan: mesh, micro-batch and rules. Evaluated before the model (which needs the size of `batch`), checked against it afterwards.
#pragma once

#include "dsl/Program.h"
#include "dsl/Schedules.h"
#include "dsl/elaborate/Settings.h"
#include "dsl/elaborate/TrainElaborator.h"

namespace npar::dsl {

class PlanElaborator {
public:
  PlanElaborator(const KnownSchedules &schedules, Settings &settings, Evaluator &evaluator, Sources &sources, Diagnostics &diagnostics)
      : schedules(schedules), settings(settings), evaluator(evaluator), reporter(evaluator.reporter), sources(sources),
        diagnostics(diagnostics) {}

  /// The plan's own text: mesh sizes, rules, micro; then D and M from the batch. `source` null: one rank (`--plan none`).
  void declare(const ast::Plan *source, const ElaboratedTrain &train);

  /// The rules against the axes, blocks and operations of the model.
  void check(const Model &model);

  Plan plan;

private:
  /// What stands behind `by`.
  struct Chosen {
    std::string name; ///< of a known schedule, or a file as written
    std::string path; ///< of the file
    int chunks = 0;   ///< 0: not said
    Location at;
  };

  /// One left-hand name of a rule of the text, also when its condition is false.
  struct Entry {
    Rule rule;
    const ast::Rule *source = nullptr;
    std::optional<Chosen> schedule;
    Location axisAt, padAt, opAt, layerAt;
    std::vector<Location> meshAt;
    bool enabled = true;
  };

  void mesh(const ast::Plan &source);
  void rule(const ast::Rule &source);
  std::optional<Chosen> schedule(const ast::Rule &source);
  void numbers(const ast::Plan *source);
  void parallelism(const ElaboratedTrain &train);
  const MeshAxis *findMesh(const std::string &name) const;

  // PlanCheck.cpp
  void checkNames(const Entry &entry, const Model &model);
  void checkNarrowing(const Entry &entry, const Model &model);
  void checkDivision(const Entry &entry, const Model &model);
  void checkPipeline(const Model &model);
  void readSchedule(const MeshAxis &stages, const Chosen &chosen);
  void checkBlocks(const MeshAxis &stages, int blocks);
  void checkMicros(const MeshAxis &stages, Location at);
  void checkConflicts();
  int64_t meshSize(const Entry &entry) const;

  const KnownSchedules &schedules;
  Settings &settings;
  Evaluator &evaluator;
  Reporter &reporter;
  Sources &sources;
  Diagnostics &diagnostics;
  Scope scope;
  std::vector<Entry> entries;
  Location microAt;
};

} // namespace npar::dsl
