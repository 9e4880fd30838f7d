// Loads and stores: addresses are looked up, and every access is checked.
#pragma once

#include "tests/engine/backends/standin/ptx/Instruction.h"

namespace npar::standin::ptx {

enum class Space { Generic, Global, Shared, Local, Parameter };

/// `type`: "b32", "s8", ...; `letter`: the size of the registers (h, w, d). Null: not known. Targets of a load and sources of a store after
/// the first, which is the address, lie side by side in memory.
Handler loadOf(Space space, const std::string &type, char letter);
Handler storeOf(Space space, const std::string &type, char letter);

} // namespace npar::standin::ptx
