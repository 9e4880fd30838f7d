// torchtitan in two files: the program with its parallel layout and model (Torchtitan), and its optimizer and learning rate
// (TorchtitanTraining).
#pragma once

#include "tools/lib/foreign/Reading.h"

#include <fmt/format.h>

namespace npar::foreign {

/// Writes sections and their settings.
class Toml {
public:
  void section(const char *name) { text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", name); }
  void add(const char *key, const std::string &word) { text += fmt::format("{} = \"{}\"\n", key, word); }
  void add(const char *key, int64_t value) { text += fmt::format("{} = {}\n", key, value); }
  void add(const char *key, uint64_t value) { text += fmt::format("{} = {}\n", key, value); }
  void add(const char *key, double value);
  std::string text;
};

void readTorchtitanTraining(Reading &in);
/// Writes [optimizer] and [lr_scheduler].
void addTorchtitanOptimizer(Toml &toml, const ForeignRun &run);

} // namespace npar::foreign
