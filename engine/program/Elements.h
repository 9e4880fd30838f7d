// What elements of a type are: how large, and whether arithmetic on them is done in another.
#pragma once

#include "engine/program/Enums_generated.h"

#include <cstdint>

namespace npar::program {

/// Bytes of one element.
uint64_t sizeOf(ElementType type);

/// A float of 16 bits: it is computed with in float32 and rounded once per operation.
bool isNarrow(ElementType type);

} // namespace npar::program
