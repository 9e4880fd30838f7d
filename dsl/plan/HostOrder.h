// The `place` clause of a plan: in which order ranks go onto hosts, and which mesh axes stay inside one.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// The clause with its names checked against the mesh; nothing where the plan has none, or one with an error.
std::optional<HostOrder> readHostOrder(const ast::Plan &source, const std::vector<MeshAxis> &mesh, Reporter &reporter);

} // namespace npar::dsl
