// Loads and stores: addresses are looked up, and every access is checked.
#pragma once

#include "tests/engine/backends/standin/ptx/Instruction.h"

namespace npar::standin::ptx {

enum class Space { Generic, Global, Shared, Local, Parameter };

/// `type` is "b32", "s8" and so on; `letter` is the size of the registers (h, w, d). Returns null for unknown ones. The targets of a load,
/// or the sources of a store after the first, which is the address, are contiguous in memory.
Handler loadOf(Space space, const std::string &type, char letter);
Handler storeOf(Space space, const std::string &type, char letter);

} // namespace npar::standin::ptx
