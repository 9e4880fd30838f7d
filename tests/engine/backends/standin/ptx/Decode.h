// Translates an entry's text into a kernel that can be run.
#pragma once

#include "tests/engine/backends/standin/ptx/Instruction.h"
#include "tests/engine/backends/standin/ptx/Text.h"

#include <map>

namespace npar::standin::ptx {

/// `globals` has the addresses of the module's variables. Returns false, with the unknown word and its line in `error`.
bool decode(const Entry &entry, const std::map<std::string, uint64_t> &globals, Kernel &kernel, std::string &error);

} // namespace npar::standin::ptx
