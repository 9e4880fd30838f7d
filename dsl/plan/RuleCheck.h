// The `split` rules of a plan against the model: names, divisibility, conflicts. Each message gives the numbers and a legal change.
#pragma once

#include "dsl/constants/Reporter.h"
#include "dsl/plan/PlanRule.h"

namespace npar::dsl {

/// Reads the mesh and the model, changes neither; what is wrong goes to the reporter.
class RuleCheck {
public:
  RuleCheck(const std::vector<MeshAxis> &mesh, const Model &model, Reporter &reporter) : mesh(mesh), model(model), reporter(reporter) {}

  /// Whether the model has what stands on the left and the mesh what stands on the right. The other checks need that it is so.
  void checkNames(const PlanRule &rule);
  /// `in op` and `in layer`: whether the model has such an operation or layer.
  void checkNarrowing(const PlanRule &rule);
  /// Whether the mesh axes divide the axis, and whether what the rule says besides fits an axis.
  void checkDivision(const PlanRule &rule);
  /// Whether two rules want the same for the same.
  void checkConflicts(const std::vector<PlanRule> &rules);

private:
  void checkWay(const PlanRule &rule);
  int64_t meshSize(const PlanRule &rule) const;

  const std::vector<MeshAxis> &mesh;
  const Model &model;
  Reporter &reporter;
};

} // namespace npar::dsl
