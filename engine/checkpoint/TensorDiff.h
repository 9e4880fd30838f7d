// Compares the tensors of two stores, block by block: which differ, by how much, and where first.
#pragma once

#include "engine/checkpoint/TensorStore.h"

#include <functional>
#include <optional>

namespace npar::engine {

/// The differences of a tensor that both stores have in the same shape.
struct ValueDifference {
  uint64_t elements = 0;        ///< of the tensor
  uint64_t differing = 0;       ///< elements whose bits differ; where the types differ, whose values do
  uint64_t first = 0;           ///< row-major index of the first of these
  double left = 0, right = 0;   ///< the values there; of types that are not floating the first differing bytes
  double largest = 0;           ///< of |left - right|, where both are numbers
  double relative = 0;          ///< the largest of |left - right| / max(|left|, |right|)
  std::optional<uint64_t> ulps; ///< the largest distance in units in the last place, where the types are the same
  uint64_t notNumbers = 0;      ///< differing elements of which one side at least is no finite number
  std::vector<int64_t> place;   ///< of the first
};

struct TensorDifference {
  enum class Kind { OnlyLeft, OnlyRight, Shape, Values };
  Kind kind = Kind::Values;
  std::string name;
  StoreEntry left, right; ///< empty where the side lacks the tensor
  ValueDifference values;
};

struct StoreDifference {
  std::vector<TensorDifference> tensors; ///< by name
  uint64_t compared = 0;                 ///< tensors that both have in one shape
  std::vector<std::string> otherType;    ///< of these, the ones that have the same values in different types
};

/// Compares the tensors that `which` (null: all) takes by name. Memory does not grow with the tensors. `progress` (may be null) is told the
/// bytes of the left side that are done.
Result<StoreDifference> compareStores(const TensorStore &left, const TensorStore &right,
                                      const std::function<bool(const std::string &)> &which = nullptr,
                                      const std::function<void(uint64_t)> &progress = nullptr);

} // namespace npar::engine
