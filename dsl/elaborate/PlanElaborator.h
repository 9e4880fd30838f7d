// A plan: mesh, micro-batch and rules. Evaluated before the model (which needs the size of `batch`), checked against it afterwards.
#pragma once

#include "dsl/Program.h"
#include "dsl/elaborate/Settings.h"
#include "dsl/elaborate/TrainElaborator.h"

namespace npar::dsl {

class PlanElaborator {
public:
  PlanElaborator(Settings &settings, Evaluator &evaluator) : settings(settings), evaluator(evaluator), reporter(evaluator.reporter) {}

  /// The plan's own text: mesh sizes, rules, micro; then D and M from the batch. `source` null: one rank (`--plan none`).
  void declare(const ast::Plan *source, const ElaboratedTrain &train);

  /// The rules against the axes, blocks and operations of the model.
  void check(const Model &model);

  Plan plan;

private:
  /// One left-hand name of a rule of the text, also when its condition is false.
  struct Entry {
    Rule rule;
    const ast::Rule *source = nullptr;
    std::string schedule;
    Location axisAt, padAt, opAt, layerAt;
    std::vector<Location> meshAt;
    bool enabled = true;
  };

  void mesh(const ast::Plan &source);
  void rule(const ast::Rule &source);
  std::string schedule(const ast::Rule &source);
  void numbers(const ast::Plan *source);
  void parallelism(const ElaboratedTrain &train);
  const MeshAxis *findMesh(const std::string &name) const;

  // PlanCheck.cpp
  void checkNames(const Entry &entry, const Model &model);
  void checkNarrowing(const Entry &entry, const Model &model);
  void checkDivision(const Entry &entry, const Model &model);
  void checkPipeline(const Model &model);
  void checkConflicts();
  int64_t meshSize(const Entry &entry) const;

  Settings &settings;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope scope;
  std::vector<Entry> entries;
  Location microAt;
};

} // namespace npar::dsl
