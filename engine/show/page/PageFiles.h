// The pages' templates as text inside the program. EmbedPage.cmake makes it from the files in this folder when they change.
#pragma once

namespace npar::show {

extern const char *const pageHtml; ///< with the marks {{title}}, /*style*/, /*data*/ and /*script*/, in this order
extern const char *const pageStyle;
extern const char *const pageScript; ///< data.js, draw.js, page.js

extern const char *const searchHtml; ///< with the marks {{title}}, /*style*/, {{picture}}, /*data*/ and /*script*/, in this order
extern const char *const searchStyle;
extern const char *const searchScript;

} // namespace npar::show
