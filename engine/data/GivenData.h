// The files and kinds that the user gives for a program's inputs; they override its data block.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

/// A file for one input, or for all if `input` is empty.
struct GivenFile {
  std::string input, path;

  /// The parts of `INPUT=FILE`. Text before `=` that cannot be an input belongs to the file's name.
  static GivenFile of(const std::string &text);
  bool hasTensors() const;
  /// True for what can only be a stream of tokens: one file for all inputs, which is neither a file of tensors nor a folder.
  bool mustBeStream() const;
};

struct GivenData {
  std::vector<std::string> files;           ///< FILE or INPUT=FILE, as given
  std::string tokens, mask, order;          ///< empty: not given
  bool random = false, mayBeRandom = false; ///< --random-data: is given; the command has it

  /// Usage for wrong combinations, before anything is compiled.
  Status check() const;
  /// True if a file can hold tokens of a kind that is not stated.
  bool lacksTokens() const;
};

/// The sources of a program's inputs: its data block, with the changes that the user makes. Usage for a program without any data.
Result<DataPlan> planOf(const GivenData &given, const program::Program &program, const BatchShape &shape);

/// A sentence about the parts of a plan's split that a run does not read; empty if it reads all of them. The run trains on the first part.
/// `evaluates`: it evaluates the last part; `other`: it evaluates other data.
std::string unusedParts(const DataPlan &plan, bool evaluates, bool other);

/// The usage error of a command without data. `mayBeRandom`: the command has --random-data.
Status noData(bool mayBeRandom);
/// The usage error of a token file of unknown kind.
Status noTokens();

} // namespace npar::engine
