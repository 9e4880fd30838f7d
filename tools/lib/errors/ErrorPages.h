// What the code of an error means: the pages of dsl/errors/*.md and the rules of compiler/RULES.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace npar::errors {

struct ErrorPage {
  std::string code;  ///< "P8"
  std::string title; ///< "an axis is not divisible"; empty for a rule without a page of errors
  std::string text;  ///< Markdown without the heading, and below it the rule of that label; ends with a line break
};

/// All pages, ordered by letter and number.
const std::vector<ErrorPage> &errorPages();

/// The page of a code, whose letter may be small; null: no page.
const ErrorPage *findErrorPage(const std::string &code);

} // namespace npar::errors
