// Looks open texts up by the key that the disk gives to their paths.
#include "tools/lib/lsp/OpenTexts.h"

#include "tools/lib/lsp/Uri.h"

#include <filesystem>

namespace npar::lsp {

OpenTexts::OpenTexts(const std::map<std::string, TextPointer> &texts) {
  for (const auto &[path, text] : texts) {
    byKey[key(path)] = text;
    paths.push_back(path);
  }
}

std::string OpenTexts::key(const std::string &path) const { return isAddress(path) ? path : dsl::DiskTexts().key(path); }

const TextPointer *OpenTexts::find(const std::string &path) const {
  auto found = byKey.find(key(path));
  return found == byKey.end() ? nullptr : &found->second;
}

std::optional<std::string> OpenTexts::read(const std::string &path, size_t most, std::string &why) const {
  const TextPointer *text = find(path);
  if (!text)
    why = "no such text";
  else if ((*text)->bytes().size() > most)
    why = "it has " + std::to_string((*text)->bytes().size()) + " bytes, at most " + std::to_string(most) + " are read";
  else
    return (*text)->bytes();
  return std::nullopt;
}

std::vector<std::string> OpenTexts::textsIn(const std::string &folder) const {
  std::vector<std::string> found;
  for (const std::string &path : paths)
    if (!isAddress(path) && std::filesystem::path(path).parent_path() == std::filesystem::path(folder))
      found.push_back(path);
  return found;
}

dsl::TextsPointer withOpenTexts(const std::map<std::string, TextPointer> &texts) {
  return std::make_shared<dsl::LayeredTexts>(std::vector<dsl::TextsPointer>{std::make_shared<OpenTexts>(texts), dsl::installedTexts()});
}

} // namespace npar::lsp
