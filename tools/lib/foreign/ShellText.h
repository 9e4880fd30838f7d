// Expands variables and arithmetic of shell scripts.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace npar::foreign {

constexpr size_t longestShellWord = 4000; ///< bytes, after expansion
constexpr size_t mostVariables = 1000;

using Variables = std::map<std::string, std::string>;

/// Replaces `$A`, `${A}`, `${A:-8}` and `$((A * 2))` by the values of variables that the script sets, or by the defaults it names. Unknown
/// variables stay as they are. A text that would become too long is returned unchanged.
std::string expanded(const std::string &text, const Variables &variables);

/// Length of NAME if the text begins with `NAME=` or `NAME+=`, else 0.
size_t lengthOfAssigned(const std::string &text);

} // namespace npar::foreign
