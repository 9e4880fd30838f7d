// How a plan divides the global batch: the size of a micro-batch, the ranks that share it (D) and how many there are (M); RULES.md#P10.
#pragma once

#include "dsl/plan/PlanRule.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// The batch of a train block.
struct GlobalBatch {
  int64_t size = 0; ///< sequences
  Location at;
};

/// Sequences per rank and micro-batch.
struct MicroSize {
  int64_t size = 0;
  Location at;
};

/// Reads `micro` from `value`, which may be null. `standing` holds where no value is given: the batch for one rank, nothing for a plan,
/// which must have one; `source` is null for one rank. The value may be computed from the `batch` and from the sizes of mesh axes, by their
/// names.
MicroSize readMicro(const ast::Expression *value, const ast::Plan *source, MicroSize standing, const GlobalBatch &batch,
                    const std::vector<MeshAxis> &mesh, PlanText &text);

struct Division {
  int64_t dataParallel = 1; ///< D
  int64_t microCount = 1;   ///< M = batch / (D * micro)
};

/// D from the rules on `batch` that are narrowed to nothing, then M. Reports a batch that does not divide.
Division divideBatch(const std::vector<PlanRule> &rules, const std::vector<MeshAxis> &mesh, const MicroSize &micro,
                     const GlobalBatch &global, Reporter &reporter);

} // namespace npar::dsl
