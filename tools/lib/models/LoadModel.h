// Loads or compiles the model of a command, after checking the files that the command reads and writes.
#pragma once

#include "tools/lib/models/Compilation.h"
#include "tools/lib/models/FileClaims.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::models {

/// The texts of a program and the names of its model's constants. Empty for a compiled program.
struct ModelOrigin {
  std::optional<dsl::Sources> texts;
  std::vector<std::string> constants;
  std::string batch; ///< "batch 64 = 4 ranks x 8 x 2" if the text leaves the batch out; empty if not
};

/// Claims the files that a text reads and names, and checks the claims, for a command that elaborates the text later. Errors of the text
/// are reported then, not here.
engine::Status claimText(const ModelOptions &options, FileClaims &files);

/// Loads a .npx file, or compiles a text in memory. Claims all files that it reads in `files` and checks the claims before the compiler
/// runs: only elaboration finds out what a text imports. `origin` (may be null) gets the texts.
engine::Result<ProgramPointer> loadModel(const ModelOptions &options, FileClaims &files, engine::Observer &observer,
                                         bool withoutKernels = false, ModelOrigin *origin = nullptr);

} // namespace npar::models
