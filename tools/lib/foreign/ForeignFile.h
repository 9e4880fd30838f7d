// The file that says how another program trains, taken apart into settings with their places, whatever its syntax is.
#pragma once

#include "dsl/Diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::foreign {

enum class ForeignFormat { Megatron, Torchtitan, DeepSpeed, Accelerate };

/// "megatron", "torchtitan", "deepspeed", "accelerate", as --from-format has them.
const std::vector<std::pair<std::string, ForeignFormat>> &foreignFormats();
/// As people call the program.
const char *nameOf(ForeignFormat format);

struct ForeignEntry {
  std::string key; ///< "parallelism.tensor_parallel_degree"; of flags without dashes in front, with `_` for the others; empty: the program
  std::string value; ///< "true" of a flag that has none; what is null, or None, is no entry
  dsl::Location at;
  bool isCertain = true; ///< false: it stands where only a run shows whether it holds (a shell's `if`)
};

struct ForeignFile {
  ForeignFormat format = ForeignFormat::Megatron;
  bool isDump = false; ///< Megatron's own list of all its arguments, defaults too
  std::vector<ForeignEntry> entries;
};

/// Reads the file at `path` into `sources` and takes it apart; by `format`, or by what it looks like. Nothing when `diagnostics` got
/// errors.
std::optional<ForeignFile> readForeignFile(const std::string &path, std::optional<ForeignFormat> format, dsl::Sources &sources,
                                           dsl::Diagnostics &diagnostics);

// One syntax each, within the limits of EntryList.h; they report what is wrong at its place. `file` is the text's index in the sources.

/// Words of a shell script that begin with `--`, with what follows them: continued lines, quotes, comments, arrays, variables that the
/// script sets.
std::vector<ForeignEntry> readFlags(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);
/// Lines such as `  tensor_model_parallel_size ............ 8`, whatever stands before them (a rank, a time).
std::vector<ForeignEntry> readDump(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);
/// Returns whether the text has more than two such lines, anywhere: it may be part of a log.
bool isDump(const std::string &text);
std::vector<ForeignEntry> readToml(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);
std::vector<ForeignEntry> readYaml(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);
/// A key that is there twice is an error, as it is for DeepSpeed.
std::vector<ForeignEntry> readJson(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
