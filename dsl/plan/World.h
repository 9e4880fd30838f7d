// The number of ranks that a command gives a plan, the world, and `rest`: the size of the mesh axis that takes what the other axes leave.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// Binds the name `rest` in the scope of a plan whose mesh uses it, before its constants are bound. The world is that of the setting
/// `world`, else `known` (0: unknown). Reports a world that is unknown or that the other axes do not divide.
void bindRest(const ast::Plan &source, int64_t known, Sources &sources, PlanText &text);

/// Reports a mesh with another number of ranks than the setting `world`. `isSound`: false if the mesh has errors.
void checkWorld(const std::vector<MeshAxis> &mesh, bool isSound, PlanText &text);

/// The name, which no constant has if a plan uses it.
constexpr const char *restName = "rest";

} // namespace npar::dsl
