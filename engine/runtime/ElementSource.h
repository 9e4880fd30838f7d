// Where the elements of a variable come from, range by range: a file, a checkpoint, memory, a generator.
#pragma once

#include "engine/program/Enums_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <functional>

namespace npar::engine {

/// The logical tensor of a variable in row-major order (which is that of its stored shape too). `read` fills `elements` with `count`
/// elements of `type` from the row-major element `first` on, little-endian as in memory; several threads call it at once, for ranges in any
/// order, and no element is asked for twice. What it fails with ends the writing.
struct ElementSource {
  program::ElementType type = program::ElementType::F32;
  std::function<Status(uint64_t first, uint64_t count, uint8_t *elements)> read;
};

} // namespace npar::engine
