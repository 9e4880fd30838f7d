// The store rules of a plan that name a tier: what is kept in the memory of the host or in files (ZeRO-Offload, ZeRO-Infinity).
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// The tier that the rule names after its arrow. Nothing if it names mesh axes only: an axis comes before a tier of its name.
std::optional<program::Tier> tierOf(const ast::StoreRule &rule, const std::vector<MeshAxis> &mesh);

/// The rules that name tiers and whose conditions hold.
std::vector<TierRule> readTiers(const ast::Plan &source, const std::vector<MeshAxis> &mesh, PlanText &text);

} // namespace npar::dsl
