// The mesh of a plan: named axes whose sizes come from the text, from constants of their names or from `--set mesh.NAME=...`.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// The mesh axes in the order of the text; one with an error has size 1.
std::vector<MeshAxis> readMesh(const ast::Plan &source, PlanText &text);

/// The mesh axis of this name, null when there is none.
const MeshAxis *findMesh(const std::vector<MeshAxis> &mesh, const std::string &name);

/// Suggests mesh axes to write in place of `name`, which is none.
Helps meshHelps(const std::vector<MeshAxis> &mesh, const std::string &name);

} // namespace npar::dsl
