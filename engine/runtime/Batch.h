// The values of a global batch, one typed list per input of the program.
#pragma once

#include "engine/runtime/BatchShape.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace npar::engine {

/// Values of an input, row-major over its shape (program::LogicalInput), samples first. The alternative is its type: I32, U8, F32.
using InputValues = std::variant<std::vector<int32_t>, std::vector<uint8_t>, std::vector<float>>;

/// The element type of the values.
program::ElementType typeOf(const InputValues &values);
uint64_t sizeOf(const InputValues &values);

/// In the program's order of inputs, whatever the plan.
using Batch = std::vector<InputValues>;

/// Refuses a batch of another number of inputs, an input of another type or size, and an integer that the model has no class for: with the
/// names of input and axis, the sample's number in the batch and the position in the sample. `rows`: the batch holds these samples alone,
/// ascending; null: all.
Status checkBatch(const BatchShape &shape, const Batch &batch, const std::vector<int64_t> *rows = nullptr);

/// Whether a batch that fits a program holds `count` samples and not all of them.
bool holdsSome(const BatchShape &shape, const Batch &batch, size_t count);

} // namespace npar::engine
