// `tokenizer_config.json`, as the transformers package writes it: how the other files of a folder are meant.
#pragma once

#include "engine/text/AddedTokens.h"

#include "engine/status/Status.h"

#include <optional>

namespace npar::engine {

/// All fields have their defaults if the file is absent.
struct TokenizerConfig {
  bool exists = false;
  std::string type; ///< the class of the tokenizer without "Fast" at its end; may be empty
  bool addPrefixSpace = false, addEnd = false;
  std::optional<bool> addBegin;
  bool lowercase = true, splitsChinese = true; ///< BERT's
  std::optional<bool> stripsAccents;
  std::optional<std::string> begin, end, unknown, classify, separator, padding, mask; ///< special tokens
  std::vector<AddedToken> added;
};
Result<TokenizerConfig> readTokenizerConfig(const std::string &folder);

} // namespace npar::engine
