// Loads or compiles the model of a command, after checking the files that the command reads and writes.
#pragma once

#include "tools/lib/models/Compilation.h"
#include "tools/npar/files/FileClaims.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

using models::Compilation;
using models::ElaboratedModel;
using models::ModelOptions;
using models::ProgramPointer;
using models::SettingsList;

/// The texts of a program and the names of its model's constants. Empty for a compiled program.
struct ModelOrigin {
  std::optional<dsl::Sources> texts;
  std::vector<std::string> constants;
};

/// models::elaborateModel, printing what goes wrong.
Outcome<ElaboratedModel> elaborateModel(const ModelOptions &options, const SettingsList &settings = {}, bool withWarnings = true);

/// Claims the files that a text reads and names, and checks the claims, for a command that elaborates the text later. Errors of the text
/// are reported then, not here.
ExitCode claimText(const ModelOptions &options, FileClaims &files);

/// Loads a .npx file, or compiles a text in memory. Claims all files that it reads in `files` and checks the claims before the compiler
/// runs: only elaboration finds out what a text imports. `origin` (may be null) gets the texts.
Outcome<ProgramPointer> loadModel(const ModelOptions &options, FileClaims &files, bool withoutKernels = false,
                                  ModelOrigin *origin = nullptr);

} // namespace npar::driver
