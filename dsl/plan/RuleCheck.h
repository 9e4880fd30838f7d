// The `split` rules of a plan against the model: names, divisibility, conflicts. Each message gives the numbers and a legal change.
#pragma once

#include "dsl/constants/Reporter.h"
#include "dsl/plan/PlanRule.h"

namespace npar::dsl {

/// Reads the mesh and the model, changes neither; what is wrong goes to the reporter.
class RuleCheck {
public:
  RuleCheck(const std::vector<MeshAxis> &mesh, const Model &model, Reporter &reporter) : mesh(mesh), model(model), reporter(reporter) {}

  /// Checks that the model has the name on the left and the mesh has the names on the right. The other checks rely on it.
  void checkNames(const PlanRule &rule);
  /// `in op` and `in layer`: checks that the model has such an operation or layer.
  void checkNarrowing(const PlanRule &rule);
  /// Checks that the mesh axes divide the axis, and that the other parts of the rule make sense for an axis.
  void checkDivision(const PlanRule &rule);
  /// Checks that no two rules split the same axis of the same operations over the same mesh axis.
  void checkConflicts(const std::vector<PlanRule> &rules);

private:
  void checkWay(const PlanRule &rule);
  int64_t meshSize(const PlanRule &rule) const;

  const std::vector<MeshAxis> &mesh;
  const Model &model;
  Reporter &reporter;
};

} // namespace npar::dsl
