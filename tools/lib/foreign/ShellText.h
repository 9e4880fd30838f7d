// Variables and sums of shell scripts, put in place of their names.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace npar::foreign {

constexpr size_t longestShellWord = 4000; ///< bytes, with variables in place
constexpr size_t mostVariables = 1000;

using Variables = std::map<std::string, std::string>;

/// Replaces `$A`, `${A}`, `${A:-8}` and `$((A * 2))` by the values of variables that the script sets, or by the defaults it names. Leaves
/// unknown variables as they are, and a whole text that would become too long.
std::string expanded(const std::string &text, const Variables &variables);

/// Length of NAME if the text begins with `NAME=` or `NAME+=`, else 0.
size_t lengthOfAssigned(const std::string &text);

} // namespace npar::foreign
