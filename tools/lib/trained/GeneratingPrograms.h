// The programs with which a model generates text.
#pragma once

#include "tools/lib/trained/NamedModel.h"

#include <cstdint>
#include <functional>

namespace npar::trained {

/// Chooses further settings, such as batch=4, for a model whose own sizes are known.
using ChooseSettings = std::function<engine::Result<models::SettingsList>(const dsl::Program &model)>;

/// Generation programs of one model and plan: either `whole` alone, or `step` and possibly `prompt`.
struct GeneratingPrograms {
  models::ProgramPointer whole; ///< computes the whole sequence for each token
  models::ProgramPointer step;  ///< computes one position, and keeps keys and values of earlier ones
  models::ProgramPointer
      prompt;         ///< the same for many positions, with logits only for the last, in the same memory; null if prompts are short
  int64_t length = 0; ///< longest sequence
  const models::ProgramPointer &largest() const { return whole ? whole : prompt ? prompt : step; }
};

/// Compiles the text with the settings that `choose` adds, or loads a compiled program, which computes the whole sequence. `choose` gets
/// the model under `probe`, and sets `promptTokens`, those of the longest prompt; the settings of both win over the command line's.
engine::Result<GeneratingPrograms> compileToGenerate(const NamedModel &named, models::FileClaims &files, const models::SettingsList &probe,
                                                     const ChooseSettings &choose, const int64_t &promptTokens, bool quiet,
                                                     engine::Observer &observer);

} // namespace npar::trained
