// A model whose settings are not those that a checkpoint was trained with has the same tensors perhaps, and computes something else.
#pragma once

#include "tools/npar/model/ModelOptions.h"

#include <string>
#include <vector>

namespace npar::driver {

/// The settings and the configuration of the model that differ from those of the checkpoint `folder`, "heads=2 there, heads=4 here"; empty:
/// none, or the checkpoint is of a compiled program, or is none. `constants`: which settings are the model's; of others, what the
/// checkpoint knows as such. Train block and plan may be others.
std::string otherSettings(const std::string &folder, const ModelOptions &here, const std::vector<std::string> &constants = {});

} // namespace npar::driver
