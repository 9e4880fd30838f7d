// Parameters that files keep as several tensors: one with an axis in braces in its name, "experts.{expert}.w1", has a tensor for each index
// of that axis, "experts.0.w1", "experts.1.w1" ..., without that dimension.
#pragma once

#include "engine/program/Program_generated.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::program {

/// The parameter is, in row-major order, [outer, count, inner]; a tensor is [outer, inner] of it.
struct IndexedTensor {
  std::string before, after; ///< around the index in a tensor's name
  uint64_t outer = 1, count = 1, inner = 1;
  std::vector<int64_t> shape = {}; ///< shape of each tensor

  std::string name(uint64_t index) const { return before + std::to_string(index) + after; }
  /// The place in the parameter of an element of a tensor.
  uint64_t whole(uint64_t index, uint64_t element) const { return (element / inner * count + index) * inner + element % inner; }
  /// Number of elements of a tensor that precede the place in the parameter.
  uint64_t elementsBefore(uint64_t index, uint64_t place) const;
  uint64_t elements() const { return outer * inner; }
};

/// The tensors of a variable; nothing if its name has no axis in braces.
std::optional<IndexedTensor> indexedTensor(const Variable &variable);

/// A name with a number in it, taken out: "experts." + 5 + ".w1".
struct NumberedName {
  std::string before, after;
  uint64_t number = 0;
};

/// All ways to take one number out of a name, a copy of it for each.
std::vector<NumberedName> numbersIn(const std::string &name);

} // namespace npar::program
