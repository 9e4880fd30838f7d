// Looks up both ends of a copy when it runs: what was freed meanwhile is an illegal address.
#include "tests/engine/backends/standin/Copy.h"

#include <cstring>

namespace npar::standin {

namespace {
Outcome illegal(const Memory &memory, const char *what, uint64_t address, uint64_t bytes) {
  return {Code::IllegalAddress, std::string(what) + " of " + std::to_string(bytes) + " bytes: " + memory.describe(address)};
}
} // namespace

std::function<Outcome()> copyOperation(const Memory &memory, int device, uint64_t target, uint64_t source, uint64_t bytes) {
  return [&memory, device, target, source, bytes]() -> Outcome {
    const uint8_t *from = memory.find(device, source, bytes);
    uint8_t *to = memory.find(device, target, bytes);
    if (!from)
      return illegal(memory, "source of a copy", source, bytes);
    if (!to)
      return illegal(memory, "target of a copy", target, bytes);
    if (from < to + bytes && to < from + bytes)
      return {Code::InvalidValue, "a copy of " + std::to_string(bytes) + " bytes whose source and target overlap"};
    std::memcpy(to, from, bytes);
    return {};
  };
}

std::function<Outcome()> copyBetween(const Memory &memory, int targetDevice, uint64_t target, int sourceDevice, uint64_t source,
                                     uint64_t bytes) {
  return [&memory, targetDevice, target, sourceDevice, source, bytes]() -> Outcome {
    const uint8_t *from = memory.findOwn(sourceDevice, source, bytes);
    uint8_t *to = memory.findOwn(targetDevice, target, bytes);
    if (!from)
      return illegal(memory, "source of a copy between devices", source, bytes);
    if (!to)
      return illegal(memory, "target of a copy between devices", target, bytes);
    std::memcpy(to, from, bytes);
    return {};
  };
}

std::function<Outcome()> stagedCopy(const Memory &memory, int device, uint64_t target, const void *source, uint64_t bytes) {
  auto *first = static_cast<const uint8_t *>(source);
  auto staged = std::make_shared<std::vector<uint8_t>>(first, first + bytes);
  return [&memory, device, target, staged]() -> Outcome {
    uint8_t *to = memory.find(device, target, staged->size());
    if (!to)
      return illegal(memory, "target of a copy", target, staged->size());
    std::memcpy(to, staged->data(), staged->size());
    return {};
  };
}

std::function<Outcome()> copyToPageable(const Memory &memory, int device, void *target, uint64_t source, uint64_t bytes) {
  return [&memory, device, target, source, bytes]() -> Outcome {
    const uint8_t *from = memory.find(device, source, bytes);
    if (!from)
      return illegal(memory, "source of a copy", source, bytes);
    std::memcpy(target, from, bytes);
    return {};
  };
}

std::function<Outcome()> setOperation(const Memory &memory, int device, uint64_t target, uint32_t element, unsigned elementBytes,
                                      uint64_t count) {
  return [&memory, device, target, element, elementBytes, count]() -> Outcome {
    uint8_t *to = memory.find(device, target, count * elementBytes);
    if (!to)
      return illegal(memory, "setting", target, count * elementBytes);
    for (uint64_t i = 0; i < count; ++i)
      std::memcpy(to + i * elementBytes, &element, elementBytes); // little-endian
    return {};
  };
}

} // namespace npar::standin
