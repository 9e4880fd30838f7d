// The Markdown files with the pages of errors and rules, compiled in (EmbedPages.cmake).
#pragma once

#include <string>
#include <vector>

namespace npar::errors {

/// The texts of dsl/errors/*.md, then that of compiler/RULES.md.
std::vector<std::string> embeddedPages();

} // namespace npar::errors
