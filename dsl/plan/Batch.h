// How a plan divides the global batch: the size of a micro-batch, the ranks that share it (D) and how many there are (M); RULES.md#P10. Of
// batch, `micro` and `accumulate` one can be left out.
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

/// Micro-batches per training step and rank, M, as the text gives them; size 0: it does not.
struct Accumulation {
  int64_t size = 0;
  Location at;
};

/// Reads `accumulate` from `value`, which may be null.
Accumulation readAccumulation(const ast::Expression *value, PlanText &text);

/// Reads `micro` from `value`, which may be null. `standing` holds where no value is given: the batch for one rank, nothing for a plan,
/// which must have one unless `accumulation` has a size; `source` is null for one rank. The value may be computed from the `batch` and from
/// the sizes of mesh axes, by their names. Size 0: it follows from the batch.
MicroSize readMicro(const ast::Expression *value, const ast::Plan *source, MicroSize standing, const Accumulation &accumulation,
                    const GlobalBatch &batch, const std::vector<MeshAxis> &mesh, PlanText &text);

/// The mesh axes that divide the batch, named by the rules on `batch` that are narrowed to nothing.
struct DataParallel {
  int64_t ranks = 1;                                 ///< D, their product
  std::vector<std::pair<std::string, int64_t>> axes; ///< with their sizes
};

DataParallel dataParallelOf(const std::vector<PlanRule> &rules, const std::vector<MeshAxis> &mesh);

struct Division {
  int64_t micro = 1;
  int64_t microCount = 1; ///< M = batch / (D * micro)
};

/// `micro` and M, of which one may be left open. Reports a batch that is not D * micro * M.
Division divideBatch(const DataParallel &data, const MicroSize &micro, const Accumulation &accumulation, const GlobalBatch &global,
                     Reporter &reporter);

} // namespace npar::dsl
