// The pages' templates as text inside the program. EmbedPage.cmake makes it from the files in this folder when they change.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace npar::show {

extern const char *const pageHtml; ///< with the marks {{title}}, /*style*/, /*data*/ and /*script*/, in this order
extern const char *const pageStyle;
extern const char *const pageScript; ///< data.js, draw.js, page.js

extern const char *const searchHtml; ///< with the marks {{title}}, /*style*/, {{picture}}, /*data*/ and /*script*/, in this order
extern const char *const searchStyle;
extern const char *const searchScript;

/// A template with each mark replaced by its text. The marks are listed as the template has them: no text is searched for a mark.
std::string filledPage(std::string page, const std::vector<std::pair<std::string, std::string>> &texts);

} // namespace npar::show
