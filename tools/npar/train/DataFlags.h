// The flags that say where a model's inputs come from, and what they make of its data block: common to `npar train`, `eval` and `data`.
#pragma once

#include "dsl/Program.h"
#include "engine/data/DataPlan.h"
#include "tools/npar/files/FileClaims.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace npar::driver {

struct DataFlags {
  std::vector<std::string> files;           ///< FILE or INPUT=FILE, as given
  std::string tokens, mask, order;          ///< empty: not given
  bool random = false, mayBeRandom = false; ///< --random-data: given; a flag of the command

  void addFilesTo(CLI::App &app);
  /// --data-order and --random-data, of what trains.
  void addOrderTo(CLI::App &app);

  /// Mistakes that are known before anything is compiled.
  ExitCode check() const;
  /// Whether a file may be of tokens that no flag tells the kind of.
  bool lacksTokens() const;
  /// Claims what is read.
  void claim(FileClaims &claims) const;
};

/// Where the inputs of a program come from: its data block, as far as no flag says something else. The exit code of an error is its own:
/// nothing that feeds a program is a usage error.
Outcome<engine::DataPlan> planOf(const DataFlags &flags, const program::Program &program, const engine::BatchShape &shape);

/// The inputs of a text that the flags and its data block feed, by the names of tensors where these are known before anything is compiled;
/// nothing: it is not known, as of a stream of tokens or of a file that cannot be read.
std::optional<std::set<std::string>> fedInputs(const DataFlags &flags, const dsl::Program &program);

/// A sentence about the parts of a plan's split that a run does not read; empty: it reads all of them. The run trains on the first part.
/// `evaluates`: it evaluates the last one; `other`: it evaluates other data.
std::string unusedParts(const engine::DataPlan &plan, bool evaluates, bool other);

/// The usage error of a command that nothing feeds; `mayBeRandom`: it takes --random-data too.
ExitCode noData(bool mayBeRandom);
/// That of a file of tokens of which nobody says what they are.
ExitCode noTokens();

/// Claims the files of a plan, which no flag may have named.
void claim(const engine::DataPlan &plan, FileClaims &claims);

} // namespace npar::driver
