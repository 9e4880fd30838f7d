// The flags that select the sources of a model's inputs and override its data block, for `npar train`, `eval` and `data`.
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
  bool random = false, mayBeRandom = false; ///< --random-data: is given; the command has it

  void addFilesTo(CLI::App &app);
  /// Adds --data-order and --random-data, for commands that train.
  void addOrderTo(CLI::App &app);

  /// Reports wrong combinations of these flags before anything is compiled.
  ExitCode check() const;
  /// True if a file can hold tokens of a kind that no flag states.
  bool lacksTokens() const;
  /// Claims the input files.
  void claim(FileClaims &claims) const;
};

/// The sources of a program's inputs: its data block, with the changes that flags make. Errors are printed. A program without any data is
/// a usage error.
Outcome<engine::DataPlan> planOf(const DataFlags &flags, const program::Program &program, const engine::BatchShape &shape);

/// The inputs of a text that flags and data block feed, found from the names of tensors before anything is compiled. Nothing if that is
/// not known, as for a stream of tokens or an unreadable file.
std::optional<std::set<std::string>> fedInputs(const DataFlags &flags, const dsl::Program &program);

/// A sentence about the parts of a plan's split that a run does not read; empty if it reads all of them. The run trains on the first part.
/// `evaluates`: it evaluates the last part; `other`: it evaluates other data.
std::string unusedParts(const engine::DataPlan &plan, bool evaluates, bool other);

/// Reports the usage error of a command without data. `mayBeRandom`: the command has --random-data.
ExitCode noData(bool mayBeRandom);
/// Reports the usage error of a token file of unknown kind.
ExitCode noTokens();

/// Claims the files of a plan, including those that no flag names.
void claim(const engine::DataPlan &plan, FileClaims &claims);

} // namespace npar::driver
