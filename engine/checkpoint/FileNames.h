// Maps stored tensors to parameters by the program's checkpoint rules.
#pragma once

#include "engine/checkpoint/TensorStore.h"
#include "engine/program/CheckpointRules.h"
#include "engine/program/IndexedTensor.h"

namespace npar::engine {

/// A stored tensor, by its name there, and the parameter that it is for.
struct NamedTensor {
  std::string name;
  const StoreEntry *tensor = nullptr;
  const program::Variable *parameter = nullptr;
  int64_t index = whole;               ///< of IndexedTensor
  static constexpr int64_t whole = -1; ///< it is the whole parameter
  static constexpr int64_t every = -2; ///< each index of IndexedTensor is a copy of it
};

/// Every tensor of the store is in one of the lists, except those that a rule ignores and those of parameters in `asked`.
struct FileNames {
  std::vector<NamedTensor> loaded;    ///< in the order of the program's parameters; a parameter's tensors side by side, ascending
  std::vector<NamedTensor> same;      ///< must hold the values of their parameter
  std::vector<std::string> unknown;   ///< of the store
  std::vector<std::string> missing;   ///< parameters, or tensors of one that are fewer than its indices
  std::vector<std::string> fresh;     ///< parameters that are not stored and need not be
  std::vector<std::string> asked;     ///< parameters that are not read because a pattern of the caller matches them
  std::vector<std::string> copied;    ///< parameters whose indices are copies of one tensor
  std::vector<std::string> ambiguous; ///< "'a' and 'b' for 'parameter'"
};

/// The names are valid as long as `tensors` and `program` exist. `unread`: patterns of parameters that are not read; tensors that the
/// program does not know and that match one are left out.
FileNames namesOf(const program::Program &program, const std::map<std::string, StoreEntry> &tensors,
                  const std::vector<std::string> &unread = {});
/// True if a pattern matches the whole of a name; each '*' matches any text, points included.
bool matchesPattern(const std::string &pattern, const std::string &name);

} // namespace npar::engine
