// The library that loads or compiles the model of a command, with the driver's observer and printed errors.
#pragma once

#include "tools/lib/models/LoadModel.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/Terminal.h"

namespace npar::driver {

using models::Compilation;
using models::ElaboratedModel;
using models::FileClaims;
using models::ModelOptions;
using models::ModelOrigin;
using models::ProgramPointer;
using models::SettingsList;

inline Outcome<ElaboratedModel> elaborateModel(const ModelOptions &options, const SettingsList &settings = {}, bool withWarnings = true) {
  return reported(models::elaborateModel(options, terminal(), settings, withWarnings));
}
inline Outcome<ProgramPointer> loadModel(const ModelOptions &options, FileClaims &files, bool withoutKernels = false) {
  return reported(models::loadModel(options, files, terminal(), withoutKernels));
}

} // namespace npar::driver
