// Decodes base64, as tables and tokens of bytes are written in text files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace npar::engine {

/// None for anything but the standard alphabet with its padding.
std::optional<std::string> bytesOfBase64(std::string_view text);

} // namespace npar::engine
