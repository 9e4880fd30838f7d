// The flags that name a run of another program instead of a model.
#pragma once

#include "tools/lib/foreign/ForeignModel.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/ExitCode.h"
#include "tools/npar/terminal/Outcome.h"

namespace npar::driver {

/// Adds a flag that takes the key of a program: any, or one that npar writes plans for.
void addProgramFlag(CLI::App &app, const std::string &flag, const foreign::ForeignProgram *&program, const std::string &does, bool written);

/// `from` is empty if the command is about a model of npar.
struct ForeignFlags : foreign::ForeignRequest {
  bool printPlan = false;

  /// `withWorld`: with a flag --world, for a command that does not define it for plans.
  void addTo(CLI::App &app, bool withWorld = false);
  /// Usage if flags do not go together. Moves the number of devices from the settings of the model to the run.
  ExitCode check(ModelOptions &model);
  /// Moves the setting `world` of the model to the run. Usage if it is no number of devices.
  ExitCode takeWorld(ModelOptions &model);
  /// Makes the run the model of a command: `model` then names its text, which lives as long as the result. Null without --from.
  Outcome<std::shared_ptr<foreign::ForeignModel>> take(ModelOptions &model, engine::Observer &observer);
  /// Usage if --print-plan would print a plan without the settings of the command line.
  ExitCode checkPlan(const foreign::ForeignModel &model) const;
};

} // namespace npar::driver
