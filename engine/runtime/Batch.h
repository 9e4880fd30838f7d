// The values of a global batch, one typed list per input of the program.
#pragma once

#include "engine/numbers/Convert.h"
#include "engine/runtime/BatchShape.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace npar::engine {

/// Values of an input, row-major over its shape (program::LogicalInput), samples first. The alternative is its type: there is one for
/// each program::isInputType.
using InputValues = std::variant<std::vector<int32_t>, std::vector<uint8_t>, std::vector<float>>;

constexpr bool holdsEachInputType() {
  for (const program::ElementRow &row : program::elementRows)
    if (program::isInputType(row.type) &&
        !withType(row.type, [](auto element) { return std::is_constructible_v<InputValues, std::vector<decltype(element)>>; }))
      return false;
  return true;
}
static_assert(holdsEachInputType(), "each type of inputs has an alternative");

/// Calls with(value of the C++ type of an input's elements): one of the alternatives of InputValues.
template <typename With> auto withInputType(program::ElementType type, With with) {
  return withType(type, [&](auto element) -> decltype(with(int32_t{})) {
    if constexpr (std::is_constructible_v<InputValues, std::vector<decltype(element)>>)
      return with(element);
    else
      throw std::logic_error("internal error: an input of a type that no input has"); // no verified program has one
  });
}

/// The element type of the values.
program::ElementType typeOf(const InputValues &values);
uint64_t sizeOf(const InputValues &values);

/// One list per input, in the program's order of inputs, whatever the plan.
using Batch = std::vector<InputValues>;

/// Refuses a batch with another number of inputs, an input of another type or size, and an integer for which the model has no class. The
/// message names the input and the axis, the sample's number in the batch and the position in the sample. `rows`: the batch holds only
/// these samples, ascending; null: all.
Status checkBatch(const BatchShape &shape, const Batch &batch, const std::vector<int64_t> *rows = nullptr);

/// True if a batch that fits a program holds `count` samples and these are not all.
bool holdsSome(const BatchShape &shape, const Batch &batch, size_t count);

} // namespace npar::engine
