// Megatron-LM in four files: the program and its parallel layout (Megatron), its model (Model), ignored names (Names), its flags (Write).
#pragma once

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

namespace npar::foreign {

/// Patterns of names that do not affect the time or memory of a training step.
extern const std::vector<const char *> megatronImmaterial;
/// Patterns of names without a counterpart in npar, with a note on what npar does instead.
extern const std::vector<std::pair<const char *, const char *>> megatronInexpressible;
/// For the printed list of all arguments. `megatronSwitches`: patterns of names that have an effect only if the second name is on.
/// `megatronDefaults`: names with the value that changes nothing.
extern const std::vector<std::pair<const char *, const char *>> megatronSwitches, megatronDefaults;

/// Chooses Gpt2 or Llama, whichever is closer to the flags, and reports the differences. Chooses none if the flags describe no model.
void readMegatronModel(Reading &in, const ForeignHints &hints);

/// Optimizers, by npar's names.
extern const std::map<std::string, std::string> megatronOptimizers;

/// A plan as flags, one per line: model, sizes, optimizer and parallelism.
std::string megatronText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
