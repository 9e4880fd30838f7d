// Single JSON values as text, for files that are written line by line.
#pragma once

#include <string>

namespace npar::engine {

/// Quoted and escaped; bytes that are not UTF-8 are replaced.
std::string jsonString(const std::string &text);
/// The shortest text that reads back as the same double; null when it is not finite, which JSON cannot say.
std::string jsonNumber(double value);

} // namespace npar::engine
