// Fills the marks of a page's template from the last to the first, so that inserted text never comes before a mark that is still to be
// found.
#include "engine/show/page/PageFiles.h"

namespace npar::show {

std::string filledPage(std::string page, const std::vector<std::pair<std::string, std::string>> &texts) {
  for (auto entry = texts.rbegin(); entry != texts.rend(); ++entry)
    if (size_t at = page.find(entry->first); at != std::string::npos)
      page.replace(at, entry->first.size(), entry->second);
  return page;
}

} // namespace npar::show
