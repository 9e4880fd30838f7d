// torchtitan in five files: the program with its parallel layout (Torchtitan), its models (TorchtitanModels), its optimizer and learning
// rate (TorchtitanTraining), the classes of its names (TorchtitanNames), and TOML (TomlWriter).
#pragma once

#include "tools/lib/foreign/Reading.h"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace npar::foreign {

const NameTable &torchtitanNames();

/// Writes sections and their settings. A section that is opened again is continued.
class Toml {
public:
  void section(const std::string &name);
  void add(const std::string &key, const std::string &word) { set(key, '"' + word + '"'); }
  void add(const std::string &key, int64_t value) { set(key, fmt::format("{}", value)); }
  void add(const std::string &key, uint64_t value) { set(key, fmt::format("{}", value)); }
  void add(const std::string &key, double value);
  /// A setting as a file has it: `key` with its section, `value` a word, a number, a truth value or a list of words.
  void addWritten(const std::string &key, const std::string &value);
  std::string text() const;

private:
  using Lines = std::vector<std::pair<std::string, std::string>>;
  /// Sets a key of the current section.
  void set(const std::string &key, const std::string &value);

  std::vector<std::pair<std::string, Lines>> sections;
  size_t current = 0;
};

/// Reads [model]: its flavor is one of npar's models, or an error.
void readTorchtitanModel(Reading &in);
/// Writes [model], or warns that no flavor is the program's model.
void addTorchtitanModel(Toml &toml, const dsl::Program &program, dsl::Diagnostics &diagnostics);

void readTorchtitanTraining(Reading &in);
/// Writes [optimizer] and [lr_scheduler].
void addTorchtitanOptimizer(Toml &toml, const ForeignRun &run);

} // namespace npar::foreign
