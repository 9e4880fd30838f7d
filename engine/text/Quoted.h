// Text of a file that is not trusted, within a message.
#pragma once

#include <string>
#include <string_view>

namespace npar::engine {

/// In quotes, on one line, without control characters, cut short after 80 bytes.
std::string inQuotes(std::string_view text);

} // namespace npar::engine
