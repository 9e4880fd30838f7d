// The values of a parameter that files keep as a tensor for each index of one axis: put together, and taken apart.
#pragma once

#include "engine/checkpoint/FileNames.h"
#include "engine/program/IndexedTensor.h"
#include "engine/safetensors/SafetensorsWriter.h"

namespace npar::engine {

/// As TensorStore::read, of the whole parameter. `tensors` are all of it, by their indices, of one type, or the one that each index is a
/// copy of.
Status readIndexed(const TensorStore &store, const NamedTensor *tensors, uint64_t first, uint64_t count, uint8_t *bytes);

/// Does what TensorStore::read does, for the tensor of one index, with a store that has the whole parameter under `name`.
Status readPart(const TensorStore &store, const std::string &name, const program::IndexedTensor &indexed, uint64_t index, uint64_t first,
                uint64_t count, uint8_t *bytes);

/// Writes the values of the whole parameter as the tensors from `next` on, each after the one before.
template <typename T> Status writeIndexed(SafetensorsWriter &writer, size_t next, const program::IndexedTensor &indexed, const T *values) {
  std::vector<T> tensor(indexed.elements());
  for (uint64_t index = 0; index < indexed.count; ++index) {
    for (uint64_t i = 0; i < tensor.size(); ++i)
      tensor[i] = values[indexed.whole(index, i)];
    if (Status status = writer.write(next + index, 0, tensor.data(), tensor.size() * sizeof(T)); !status.ok())
      return status;
  }
  return {};
}

} // namespace npar::engine
