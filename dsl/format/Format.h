// `npar fmt`: the one layout of a text. tools/FORMAT.md describes it.
#pragma once

#include "dsl/Diagnostics.h"

#include <optional>

namespace npar::dsl {

/// The source in npar's layout. Only white space changes: all tokens and comments stay, in their order, and so do line breaks within a
/// statement. Nothing if the text has syntax errors, which are reported.
std::optional<std::string> format(uint32_t file, const Sources &sources, Diagnostics &diagnostics);

/// The same for a text without a file.
std::optional<std::string> format(const std::string &text);

} // namespace npar::dsl
