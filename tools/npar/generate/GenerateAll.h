// Generates the continuations of all prompts.
#pragma once

#include "engine/training/Generator.h"
#include "tools/npar/generate/GenerateFlags.h"
#include "tools/npar/terminal/ExitCode.h"

#include <vector>

namespace npar::driver {

/// The started programs of a model.
struct GeneratingSessions {
  std::vector<training::GeneratorPart> parts;
  bool keeps = false; ///< keys and values, for sequences of up to `length` tokens; else there is one part, for whole sequences
  int64_t length = 0;
  training::Generator generatorOf(const training::Generator::Prompts &prompts) const;
};

/// Continues the prompts, as many at once as the programs have rows, and prints the texts.
ExitCode generateAll(const GenerateFlags &flags, const GeneratingSessions &sessions, const trained::Prompts &prompts);

} // namespace npar::driver
