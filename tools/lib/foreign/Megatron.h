// What reads the settings of Megatron-LM is in three files: the parallel layout, the model, and names of what is not taken.
#pragma once

#include "tools/lib/foreign/Reading.h"

namespace npar::foreign {

/// Patterns of names that are about something else than the time and memory of a training step.
extern const std::vector<const char *> megatronImmaterial;
/// Patterns of names that npar has no counterpart for, with what it does in their place.
extern const std::vector<std::pair<const char *, const char *>> megatronInexpressible;
/// Of the list of all arguments: names that mean something only where the other one is on, and values that are no change of anything.
extern const std::vector<std::pair<const char *, const char *>> megatronSwitches, megatronDefaults;

/// Gpt2 or Llama, whichever is nearer; where it differs is named. Nothing when the flags say no model.
void readMegatronModel(Reading &in, const ForeignHints &hints);

} // namespace npar::foreign
