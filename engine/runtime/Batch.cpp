// Checks that a batch fits a program, again in every step, because kernels index tables with its values.
#include "engine/runtime/Batch.h"

#include "engine/program/Words.h"

#include <limits>

namespace npar::engine {

namespace {

/// The target that PyTorch's losses ignore by default, and what to write for it in npar.
constexpr int64_t ignoredElsewhere = -100;
constexpr const char *ignoreHelp = ": to leave such targets out of the loss, write cross_entropy(..., ignore = -100)";

template <typename T> Status checkValues(const InputShape &shape, const std::vector<T> &values, const std::vector<int64_t> *rows) {
  if (shape.range.classes == 0 || shape.range.classes > std::numeric_limits<T>::max())
    return {};
  // The loop has no branch, so it costs one pass over memory and no more; a negative number becomes a large one.
  auto classes = static_cast<uint32_t>(shape.range.classes);
  auto ignored = static_cast<uint32_t>(shape.ignore.value_or(0));
  bool wrong = false;
  for (T value : values)
    wrong |= static_cast<uint32_t>(value) >= classes && static_cast<uint32_t>(value) != ignored;
  for (size_t i = 0; wrong && i < values.size(); ++i)
    if (!shape.takes(values[i])) {
      uint64_t sample = shape.elementsOfSample(), row = rows ? static_cast<uint64_t>((*rows)[i / sample]) : i / sample;
      return Status::badInput("input '" + shape.name + "' has the value " + std::to_string(values[i]) + " in sample " +
                              std::to_string(row) + " of the batch" + shape.positionText(i % sample) + ", but " + shape.rangeText() +
                              (static_cast<int64_t>(values[i]) == ignoredElsewhere ? ignoreHelp : ""));
    }
  return {};
}

/// Floats are not checked: a step with non-finite values reports them itself.
Status checkValues(const InputShape &, const std::vector<float> &, const std::vector<int64_t> *) { return {}; }

} // namespace

program::ElementType typeOf(const InputValues &values) {
  return std::visit([](const auto &list) { return elementTypeOf<typename std::decay_t<decltype(list)>::value_type>(); }, values);
}

uint64_t sizeOf(const InputValues &values) {
  return std::visit([](const auto &list) { return static_cast<uint64_t>(list.size()); }, values);
}

Status checkBatch(const BatchShape &shape, const Batch &batch, const std::vector<int64_t> *rows) {
  if (batch.size() != shape.inputs.size())
    return Status::badInput("a batch of " + std::to_string(batch.size()) + " inputs, the program takes " +
                            std::to_string(shape.inputs.size()) + ": " + shape.names());
  for (size_t i = 0; i < batch.size(); ++i) {
    const InputShape &input = shape.inputs[i];
    uint64_t elements = rows ? input.elementsOfSample() * rows->size() : input.elements();
    if (typeOf(batch[i]) != input.type || sizeOf(batch[i]) != elements)
      return Status::badInput("input '" + input.name + "' is " + std::to_string(sizeOf(batch[i])) + " values of " +
                              program::wordOf(typeOf(batch[i])) + ", the program takes " + std::to_string(elements) +
                              (rows ? " of " + std::to_string(rows->size()) + " samples of " : ": ") + input.typeText());
    if (Status status = std::visit([&](const auto &values) { return checkValues(input, values, rows); }, batch[i]); !status.ok())
      return status;
  }
  return {};
}

bool holdsSome(const BatchShape &shape, const Batch &batch, size_t count) {
  return count < static_cast<size_t>(shape.rows) && !batch.empty() && sizeOf(batch[0]) == shape.inputs[0].elementsOfSample() * count;
}

} // namespace npar::engine
