// The flags that name a run of another program instead of a model.
#pragma once

#include "tools/lib/foreign/ForeignModel.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/ExitCode.h"

namespace npar::driver {

/// Adds a flag that takes the key of a program: any, or one that npar writes plans for.
void addProgramFlag(CLI::App &app, const std::string &flag, const foreign::ForeignProgram *&program, const std::string &does, bool written);

/// `from` is empty if the command is about a model of npar.
struct ForeignFlags : foreign::ForeignRequest {
  bool printPlan = false;

  void addTo(CLI::App &app);
  /// Usage if flags do not go together.
  ExitCode check(const ModelOptions &model) const;
  /// Usage if --print-plan would print a plan without the settings of the command line.
  ExitCode checkPlan(const foreign::ForeignModel &model) const;
};

} // namespace npar::driver
