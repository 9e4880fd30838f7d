// mov: copies of registers, and halves taken apart and put together.
#pragma once

#include "tests/engine/backends/standin/ptx/Instruction.h"

namespace npar::standin::ptx {

/// Returns the handler for a letter of the size: p, h, w, d.
Handler copyOf(char letter);
/// Two targets, the low half first; w or d.
Handler splitOf(char letter);
/// Two sources, the low half first; w or d.
Handler joinOf(char letter);

} // namespace npar::standin::ptx
