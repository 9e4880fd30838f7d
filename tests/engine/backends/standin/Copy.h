// Operations on bytes, as streams run them: late, and checked when they run.
#pragma once

#include "tests/engine/backends/standin/Driver.h"

namespace npar::standin {

/// Copies between addresses of the device or of page-locked memory. Ranges that overlap are an error.
std::function<Outcome()> copyOperation(const Memory &memory, int device, uint64_t target, uint64_t source, uint64_t bytes);
/// Copies from one device's own memory to another's.
std::function<Outcome()> copyBetween(const Memory &memory, int targetDevice, uint64_t target, int sourceDevice, uint64_t source,
                                     uint64_t bytes);
/// Copies what was in pageable memory when it was asked for.
std::function<Outcome()> stagedCopy(const Memory &memory, int device, uint64_t target, const void *source, uint64_t bytes);
/// Copies to pageable memory.
std::function<Outcome()> copyToPageable(const Memory &memory, int device, void *target, uint64_t source, uint64_t bytes);
/// Repeats an element of 1, 2 or 4 bytes `count` times.
std::function<Outcome()> setOperation(const Memory &memory, int device, uint64_t target, uint32_t element, unsigned elementBytes,
                                      uint64_t count);

} // namespace npar::standin
