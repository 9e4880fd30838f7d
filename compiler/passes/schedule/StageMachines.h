// The machines that a pipeline's stages run on: one for all, or on an uneven machine those of the hosts with the stage's ranks.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace npar::compiler {

/// A step of a stage takes as long as on the slowest of its machines, for its ranks do the same at the same time.
class StageMachines {
public:
  /// Ranks fill the machine's hosts in the order of the plan's `place`. `axis` may be null. Fails with an error at the module if the
  /// machine cannot be filled in that order. The machine must have a slot for each rank.
  static mlir::FailureOr<StageMachines> of(mlir::ModuleOp module, mlir::StringAttr axis, int64_t stages);

  /// The distinct sets of machines that stages run on. If a set has several machines, their links are those that join them.
  const std::vector<std::vector<cost::Machine>> &sets() const { return distinct; }
  /// The index in `sets` of the machines of a stage.
  size_t setOf(int64_t stage) const { return ofStage[static_cast<size_t>(stage)]; }
  const std::vector<cost::Machine> &machinesOf(int64_t stage) const { return distinct[setOf(stage)]; }

private:
  std::vector<std::vector<cost::Machine>> distinct;
  std::vector<size_t> ofStage;
};

} // namespace npar::compiler
