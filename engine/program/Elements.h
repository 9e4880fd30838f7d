// How large the elements of a type are.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::program {

/// Bytes of one element.
uint64_t sizeOf(ElementType type);

} // namespace npar::program
