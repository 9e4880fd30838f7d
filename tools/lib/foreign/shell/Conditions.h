// Decides `[ ... ]` and `[[ ... ]]`, if what they compare is known.
#pragma once

#include "tools/lib/foreign/shell/Expander.h"

namespace npar::foreign::shell {

/// `[ arguments ]`, without the closing bracket.
ExitCode testOf(const std::vector<Text> &arguments, Environment &environment, Origin at);
/// `[[ words ]]`
ExitCode testOf(const Test &test, const Unit &unit, Expander &expander, Environment &environment);

} // namespace npar::foreign::shell
