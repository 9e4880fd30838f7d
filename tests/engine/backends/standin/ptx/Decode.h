// From an entry's text to a kernel that can be run.
#pragma once

#include "tests/engine/backends/standin/ptx/Instruction.h"
#include "tests/engine/backends/standin/ptx/Text.h"

#include <map>

namespace npar::standin::ptx {

/// `globals` says where variables of the module lie. False: `error` says what is not known, and in which line.
bool decode(const Entry &entry, const std::map<std::string, uint64_t> &globals, Kernel &kernel, std::string &error);

} // namespace npar::standin::ptx
