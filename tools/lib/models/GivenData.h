// The files and kinds that the user gives for a model's inputs; they override its data block.
#pragma once

#include "dsl/Program.h"
#include "engine/data/DataPlan.h"
#include "engine/status/Status.h"
#include "tools/lib/models/FileClaims.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace npar::models {

struct GivenData {
  std::vector<std::string> files;           ///< FILE or INPUT=FILE, as given
  std::string tokens, mask, order;          ///< empty: not given
  bool random = false, mayBeRandom = false; ///< --random-data: is given; the command has it

  /// Usage for wrong combinations, before anything is compiled.
  engine::Status check() const;
  /// True if a file can hold tokens of a kind that is not stated.
  bool lacksTokens() const;
  /// Claims the input files.
  void claim(FileClaims &claims) const;
};

/// The sources of a program's inputs: its data block, with the changes that the user makes. Usage for a program without any data.
engine::Result<engine::DataPlan> planOf(const GivenData &given, const program::Program &program, const engine::BatchShape &shape);

/// The inputs of a text that the user and the data block feed, found from the names of tensors before anything is compiled. Nothing if that
/// is not known, as for a stream of tokens or an unreadable file.
std::optional<std::set<std::string>> fedInputs(const GivenData &given, const dsl::Program &program);

/// A sentence about the parts of a plan's split that a run does not read; empty if it reads all of them. The run trains on the first part.
/// `evaluates`: it evaluates the last part; `other`: it evaluates other data.
std::string unusedParts(const engine::DataPlan &plan, bool evaluates, bool other);

/// The usage error of a command without data. `mayBeRandom`: the command has --random-data.
engine::Status noData(bool mayBeRandom);
/// The usage error of a token file of unknown kind.
engine::Status noTokens();

/// Claims the files of a plan, including those that the user does not name.
void claim(const engine::DataPlan &plan, FileClaims &claims);

} // namespace npar::models
