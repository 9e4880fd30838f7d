// Quotes text of an untrusted file in a message.
#pragma once

#include <string>
#include <string_view>

namespace npar::engine {

/// The text in quotes, on one line, without control characters, truncated after 80 bytes.
std::string inQuotes(std::string_view text);

} // namespace npar::engine
