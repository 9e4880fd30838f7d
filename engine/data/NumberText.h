// Whole numbers in messages.
#pragma once

#include <cstdint>
#include <string>

namespace npar::engine {

inline std::string number(int64_t value) { return std::to_string(value); }

} // namespace npar::engine
