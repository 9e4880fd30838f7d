// Megatron-LM in five files: the program and its parallel layout (Megatron), its model (Model), optimizer and learning rate (Training),
// ignored names (Names), its flags (Write).
#pragma once

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

#include <fmt/format.h>

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

void readMegatronTraining(Reading &in);

/// One flag per line.
class MegatronFlags {
public:
  void add(const std::string &flag) { text += "--" + flag + "\n"; }
  template <class Value> void add(const std::string &flag, const Value &value) { text += fmt::format("--{} {}\n", flag, value); }
  std::string text;
};

void addMegatronTraining(MegatronFlags &flags, const ForeignRun &run);

/// A plan as flags, one per line: model, sizes, optimizer and parallelism.
std::string megatronText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
