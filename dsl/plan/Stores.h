// The store rules of a plan (ZeRO): what is kept in shares over which mesh axes; and the size of a bucket of gradients.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// The store rules whose conditions hold, one for each of parameters, gradients and optimizer at most.
std::vector<Store> readStores(const ast::Plan &source, const std::vector<MeshAxis> &mesh, PlanText &text);

/// Checks that the stores are consistent and do not use the mesh axis of the pipeline's stages.
void checkStores(const std::vector<Store> &stores, const std::optional<Pipeline> &pipeline, Reporter &reporter);

struct Bucket {
  int64_t bytes = 0; ///< gradients of this many bytes are reduced together; 0: each alone
  Location at = {};
};

/// The setting `bucket` replaces the text's. `source`: null without a plan, where the setting has no effect.
Bucket readBucket(const ast::Plan *source, PlanText &text);

} // namespace npar::dsl
