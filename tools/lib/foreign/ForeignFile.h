// Reads the settings file of another training program, in any of its syntaxes, as a list of settings with their locations.
#pragma once

#include "dsl/Diagnostics.h"
#include "tools/lib/foreign/shell/Characters.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::foreign {

class ForeignProgram;

/// Why the value of a setting is not known before the run.
struct UnknownValue {
  std::string why;           ///< completes "it depends on ...": "'TP', which the script does not set"
  std::string help;          ///< how to give it; empty: there is no way
  dsl::Location at;          ///< where it is read
  bool isOfLauncher = false; ///< it only matters if the number of devices is asked for
};

struct ForeignEntry {
  std::string key;   ///< "parallelism.tensor_parallel_degree"; a flag without leading dashes and with `_` for `-`; empty: the program
  std::string value; ///< "true" for a flag without a value; values null and None make no entry
  dsl::Location at;
  std::optional<UnknownValue> unknown; ///< nothing: the value is known
};

struct ForeignFile {
  const ForeignProgram *program = nullptr; ///< whose it is; never null in a file that was read
  std::string path;                        ///< as it was given
  bool isDump = false;                     ///< the program's own list of all its settings, including defaults
  std::vector<ForeignEntry> entries;
  std::vector<std::string> assumed; ///< sentences about what reading it took for granted
};

/// Reads the file at `path` into `sources` and parses it as a file of `program`; null: the program that its content belongs to. `given`:
/// values for variables that a shell script leaves open. Nothing if `diagnostics` got errors.
std::optional<ForeignFile> readForeignFile(const std::string &path, const ForeignProgram *program, dsl::Sources &sources,
                                           dsl::Diagnostics &diagnostics, const std::map<std::string, std::string> &given = {});

using shell::isLetter;
using shell::isWord;

// Parsers for one syntax each, within the limits of EntryList.h; errors have locations. `file` is the text's index in the sources.

/// Reads lines such as `  tensor_model_parallel_size ............ 8`, after any prefix (a rank, a time).
std::vector<ForeignEntry> readDump(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);
/// True if the text has at least three such lines anywhere, since the list may be part of a log.
bool isDump(const std::string &text);
std::vector<ForeignEntry> readToml(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);
/// True for a line with a key of YAML: `num_processes: 8`.
bool isYamlKey(std::string_view line);
std::vector<ForeignEntry> readYaml(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);
/// A duplicate key is an error, as in DeepSpeed.
std::vector<ForeignEntry> readJson(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
