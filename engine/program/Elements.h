// Properties of element types: size in bytes, and whether arithmetic uses a wider type.
#pragma once

#include "engine/program/Enums_generated.h"

#include <cstdint>

namespace npar::program {

/// Bytes of one element.
uint64_t sizeOf(ElementType type);

/// True for 16-bit floats: arithmetic on them is done in float32 and rounded once per operation.
bool isNarrow(ElementType type);

} // namespace npar::program
