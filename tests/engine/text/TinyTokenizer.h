// A tokenizer.json of a few tokens, for tests that change one thing in it.
#pragma once

#include "engine/text/Tokenizer.h"

#include <string>
#include <vector>

namespace npar::testing {

/// A folder that is removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const;
  const std::string &path() const { return folder; }

private:
  std::string folder;
};

/// Every byte as a token (its id is its place among the byte characters: '!' is 0), merges for "he", "ll", "hell" and "Ġhell", and two
/// added tokens: "<end>" (300, special) and "<end>!" (301).
std::string tinyJson();
/// Replaces the first occurrence of `from`, which must exist.
std::string tinyJson(const std::string &from, const std::string &to);

/// Opens a tokenizer.json with this text.
engine::Result<std::shared_ptr<const engine::Tokenizer>> openJson(const std::string &text);
std::string errorOfJson(const std::string &text);

/// The tokens' own texts, in brackets: "[he][llo]".
std::string pieces(const engine::Tokenizer &tokenizer, const std::string &text, bool additions = true);

} // namespace npar::testing
