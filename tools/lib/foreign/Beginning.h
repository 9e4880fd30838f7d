// Tells whether a text begins with another one.
#pragma once

#include <string_view>

namespace npar::foreign {

inline bool startsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

} // namespace npar::foreign
