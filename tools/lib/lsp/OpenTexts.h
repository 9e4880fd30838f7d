// The texts that an editor has open: they hide the files on the disk.
#pragma once

#include "dsl/SourceProvider.h"
#include "tools/lib/lsp/Text.h"

#include <map>
#include <string>

namespace npar::lsp {

/// A snapshot of open texts. Paths that lead to the same file, through links or `..`, are the same text.
class OpenTexts final : public dsl::SourceProvider {
public:
  /// `texts`: by path.
  explicit OpenTexts(const std::map<std::string, TextPointer> &texts);
  bool has(const std::string &path) const override { return find(path) != nullptr; }
  std::optional<std::string> read(const std::string &path, size_t most, std::string &why) const override;
  std::vector<std::string> textsIn(const std::string &folder) const override;
  std::string key(const std::string &path) const override;

private:
  const TextPointer *find(const std::string &path) const;
  std::map<std::string, TextPointer> byKey;
  std::vector<std::string> paths;
};

/// These texts, then the disk and the standard library inside this program.
dsl::TextsPointer withOpenTexts(const std::map<std::string, TextPointer> &texts);

} // namespace npar::lsp
