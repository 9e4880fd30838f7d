// The flags that name a model, its plan, its train block and settings: common to most commands.
#pragma once

#include "tools/lib/models/ModelOptions.h"
#include "tools/npar/terminal/CliApp.h"

#include <string>

namespace npar::driver {

using models::ModelOptions;

void addModelFlags(CLI::App &app, ModelOptions &options);
/// The flag --for as well, for commands that show programs of any kind.
void addKindFlag(CLI::App &app, ModelOptions &options);

/// The flag --world, which is the setting `world`, for commands that compile plans.
void addWorldFlag(CLI::App &app, ModelOptions &options);
/// The flag --accumulate, which is the setting `accumulate`, for commands that compile trainings.
void addAccumulateFlag(CLI::App &app, ModelOptions &options);

/// The flags that chose train block, configuration and settings, as a shell takes them, each after a space.
std::string modelFlags(const ModelOptions &options);

/// A word as a shell takes it.
std::string shellQuoted(const std::string &word);

} // namespace npar::driver
