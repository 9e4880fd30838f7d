// Reads a text of bounded size from a file and says why it cannot.
#include "dsl/parse/ReadText.h"

#include <filesystem>
#include <fstream>

namespace npar::dsl {
namespace fs = std::filesystem;

bool readText(const std::string &path, uint32_t &index, const std::string &name, Location from, Sources &sources, Diagnostics &diagnostics,
              size_t most) {
  auto refuse = [&](const std::string &why) {
    if (from.line == 0)
      from.file = sources.add(name, "");
    diagnostics.error(from, why);
    return false;
  };
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return refuse("cannot read '" + name + "': " + (fs::exists(path, error) ? "not a regular file" : "no such file"));
  uintmax_t size = fs::file_size(path, error);
  if (!error && size > most)
    return refuse("'" + name + "' has " + std::to_string(size) + " bytes, at most " + std::to_string(most) + " (" +
                  std::to_string(most >> 20) + " MiB) are read");
  std::ifstream in(path, std::ios::binary);
  std::string text(error ? 0 : size, '\0');
  if (error || !in || (size > 0 && !in.read(text.data(), static_cast<std::streamsize>(size))))
    return refuse("cannot read '" + name + "'");
  index = sources.add(name, std::move(text));
  return true;
}

} // namespace npar::dsl
