// Builds the syntax tree of a shell script.
#pragma once

#include "tools/lib/foreign/shell/Lexer.h"

namespace npar::foreign::shell {

/// The commands of a text. `error` gets the first place that npar cannot read; the commands before it are not returned then.
Commands parse(std::string_view text, SyntaxError &error);

} // namespace npar::foreign::shell
