// Copies of the texts that a model was read from, under names that are safe in any shell, for checkpoints to keep.
#pragma once

#include "dsl/Frontend.h"
#include "engine/training/RunCheckpoints.h"
#include "tools/lib/models/ModelOptions.h"

#include <string>
#include <utility>
#include <vector>

namespace npar::models {

/// Name and content of each, the model's own first; settings are lines of `settings.txt`. Names have letters, digits, `.`, `_` and `-`
/// alone and begin with none of the last two, whatever the user has called the files; where that or a folder changes a name, the imports
/// in the copies say the new one.
std::vector<std::pair<std::string, std::string>> textsToKeep(const dsl::Sources &texts);

/// The texts of a model and the arguments that selected it. `constants`: names of the model's constants.
training::KeptModel keptModel(const ModelOptions &options, const dsl::Sources &texts, std::vector<std::string> constants);

} // namespace npar::models
