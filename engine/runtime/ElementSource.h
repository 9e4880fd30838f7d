// A source of a variable's elements, read by ranges: a file, a checkpoint, memory, a generator.
#pragma once

#include "engine/program/Enums_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <functional>

namespace npar::engine {

/// The logical tensor of a variable in row-major order (which is also that of its stored shape). `read` fills `elements` with `count`
/// elements of `type`, starting at row-major element `first`, little-endian as in memory. Several threads call it at once, for ranges in
/// any order, and no element is read twice. An error of `read` ends the writing.
struct ElementSource {
  program::ElementType type = program::ElementType::F32;
  std::function<Status(uint64_t first, uint64_t count, uint8_t *elements)> read;
};

} // namespace npar::engine
