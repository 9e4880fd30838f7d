// Walks stored tensors in blocks, so that looking at them needs little memory.
#include "engine/checkpoint/Values.h"

#include "engine/checkpoint/CountsAsFloats.h"
#include "engine/device/ParallelFor.h"
#include "engine/numbers/Convert.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <oneapi/tbb/enumerable_thread_specific.h>

namespace npar::engine {

using program::ElementType;

namespace {

constexpr uint64_t comparedAtOnce = uint64_t{1} << 15; ///< elements; as doubles they fit a core's own cache

/// The coordinates of the element at a row-major index, in words: `[0, 3]`.
std::string indexText(uint64_t index, const std::vector<int64_t> &shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    auto size = static_cast<uint64_t>(shape[i]);
    place[i] = static_cast<int64_t>(index % size);
    index /= size;
  }
  return shapeText(place);
}

std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value); // tells float32 values apart
  if (std::isfinite(value) && std::stod(text) != value && static_cast<double>(static_cast<float>(value)) != value)
    std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

/// True if a value stays finite in a type.
bool fits(double value, ElementType type) {
  return withType(type, [&](auto element) { return std::isfinite(exactValue(nearestElement<decltype(element)>(value))); });
}

using FirstFinding = Result<std::optional<std::string>>;

/// A worker's memory for parts of one or two tensors as doubles. It is allocated once, because each new allocation would be cleared.
struct Room {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(comparedAtOnce * sizeof(double));
  std::vector<double> one = std::vector<double>(comparedAtOnce), other = std::vector<double>(comparedAtOnce);
};

/// Calls `look(begin, count, room)` for blocks, on all workers. Returns its result for the first block where it finds something or fails.
template <typename Look> FirstFinding firstIn(uint64_t elements, Look look) {
  std::mutex mutex;
  FirstFinding result = std::optional<std::string>();
  std::atomic<uint64_t> first{UINT64_MAX}; // the block of `result`
  tbb::enumerable_thread_specific<Room> rooms;
  parallelFor((elements + comparedAtOnce - 1) / comparedAtOnce, [&](uint64_t i) {
    if (first < i)
      return;
    FirstFinding found = look(i * comparedAtOnce, std::min(comparedAtOnce, elements - i * comparedAtOnce), rooms.local());
    if (found.ok() && !*found)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (i < first)
      first = i, result = std::move(found);
  });
  return result;
}

/// Elements of a stored tensor as doubles, exactly.
Status readValues(const TensorStore &store, const std::string &name, const StoreEntry &entry, uint64_t first, uint64_t count, Room &room,
                  std::vector<double> &values) {
  Status status = store.read(name, first, count, room.bytes.data());
  if (status.ok())
    widen(entry.type, room.bytes.data(), count, values.data());
  return status;
}

} // namespace

FirstFinding firstUnfit(const TensorStore &store, const std::string &tensor, ElementType type) {
  const StoreEntry &entry = store.tensors().at(tensor);
  if (program::isInteger(type))
    type = ElementType::F32;                         // what it is written as
  const double limit = program::rowOf(type).largest; // most values are far below it and need no closer look
  return firstIn(entry.elements(), [&](uint64_t begin, uint64_t count, Room &room) -> FirstFinding {
    if (Status status = readValues(store, tensor, entry, begin, count, room, room.one); !status.ok())
      return status;
    bool good = true;
    for (size_t i = 0; i < count; ++i)
      good &= std::fabs(room.one[i]) <= limit;
    for (size_t i = 0; i < count && !good; ++i)
      if (double value = room.one[i]; !fits(value, type))
        return std::optional(numberText(value) + " at " + indexText(begin + i, entry.shape) +
                             (std::isfinite(value) ? std::string(", beyond ") + program::rowOf(type).longWord : ""));
    return std::optional<std::string>();
  });
}

FirstFinding firstFraction(const TensorStore &store, const std::string &tensor) {
  const StoreEntry &entry = store.tensors().at(tensor);
  return firstIn(entry.elements(), [&](uint64_t begin, uint64_t count, Room &room) -> FirstFinding {
    if (Status status = readValues(store, tensor, entry, begin, count, room, room.one); !status.ok())
      return status;
    for (size_t i = 0; i < count; ++i)
      if (double value = room.one[i]; !isCount(value))
        return std::optional(numberText(value) + " at " + indexText(begin + i, entry.shape) +
                             (std::trunc(value) == value ? ", beyond 2^53" : ", not a whole number"));
    return std::optional<std::string>();
  });
}

FirstFinding firstDifference(const TensorStore &store, const std::string &one, const std::string &other) {
  const StoreEntry &left = store.tensors().at(one), &right = store.tensors().at(other);
  return firstIn(left.elements(), [&](uint64_t begin, uint64_t count, Room &room) -> FirstFinding {
    Status status = readValues(store, one, left, begin, count, room, room.one);
    if (status.ok())
      status = readValues(store, other, right, begin, count, room, room.other);
    if (!status.ok())
      return status;
    for (size_t i = 0; i < count; ++i)
      if (double a = room.one[i], b = room.other[i]; !(a == b))
        return std::optional(numberText(a) + " and " + numberText(b) + " at " + indexText(begin + i, left.shape));
    return std::optional<std::string>();
  });
}

} // namespace npar::engine
