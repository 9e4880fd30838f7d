// Visits the runs of elements that are contiguous both in the parameter and in a tensor.
#include "engine/checkpoint/IndexedParameter.h"

#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

using program::IndexedTensor;

namespace {

/// Calls visit(element of the tensor, place in the parameter, elements) for the runs of a range of a tensor's elements.
template <typename Visit> Status forRuns(const IndexedTensor &indexed, uint64_t index, uint64_t begin, uint64_t end, const Visit &visit) {
  while (begin < end) {
    uint64_t run = std::min(indexed.inner - begin % indexed.inner, end - begin);
    if (Status status = visit(begin, indexed.whole(index, begin), run); !status.ok())
      return status;
    begin += run;
  }
  return {};
}

} // namespace

Status readIndexed(const TensorStore &store, const NamedTensor *tensors, uint64_t first, uint64_t count, uint8_t *bytes) {
  const IndexedTensor indexed = *program::indexedTensor(*tensors->parameter);
  const uint64_t size = findStoredType(tensors->tensor->type)->bits / 8;
  const bool isCopied = tensors->index == NamedTensor::every;
  std::vector<uint8_t> room;
  for (uint64_t index = 0; index < indexed.count; ++index) {
    uint64_t begin = indexed.elementsBefore(index, first), end = indexed.elementsBefore(index, first + count);
    if (begin == end)
      continue;
    room.resize((end - begin) * size);
    if (Status status = store.read(tensors[isCopied ? 0 : index].name, begin, end - begin, room.data()); !status.ok())
      return status;
    Status copied = forRuns(indexed, index, begin, end, [&](uint64_t element, uint64_t place, uint64_t run) {
      std::memcpy(bytes + (place - first) * size, room.data() + (element - begin) * size, run * size);
      return Status();
    });
    if (!copied.ok())
      return copied;
  }
  return {};
}

Status readPart(const TensorStore &store, const std::string &name, const IndexedTensor &indexed, uint64_t index, uint64_t first,
                uint64_t count, uint8_t *bytes) {
  const uint64_t size = findStoredType(store.tensors().at(name).type)->bits / 8;
  return forRuns(indexed, index, first, first + count, [&](uint64_t element, uint64_t place, uint64_t run) {
    return store.read(name, place, run, bytes + (element - first) * size);
  });
}

} // namespace npar::engine
