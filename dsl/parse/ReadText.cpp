// Reads a text of bounded size from a file and says why it cannot.
#include "dsl/parse/ReadText.h"

namespace npar::dsl {

bool readText(const std::string &path, uint32_t &index, const std::string &name, Location from, Sources &sources, Diagnostics &diagnostics,
              size_t most) {
  auto refuse = [&](const std::string &why) {
    if (from.line == 0)
      from.file = sources.add(name, "");
    diagnostics.error(Code::L1, from, why);
    return false;
  };
  std::string why;
  std::optional<std::string> text = sources.texts().read(path, most, why);
  if (!text)
    return refuse("cannot read '" + name + "'" + (why.empty() ? "" : ": " + why));
  index = sources.add(name, std::move(*text));
  return true;
}

} // namespace npar::dsl
