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
  bool addPrefixSpace = false, prefixSpaceOff = false, addEnd = false;
  std::optional<bool> addBegin;
  bool lowercase = true, splitsChinese = true; ///< BERT's
  std::optional<bool> stripsAccents;
  bool keepsAccents = false;                                                          ///< ALBERT's
  int64_t extraIds = 100;                                                             ///< T5's
  std::optional<std::string> begin, end, unknown, classify, separator, padding, mask; ///< special tokens
  std::vector<std::string> furtherSpecial;                                            ///< without a role, as "additional_special_tokens"
  std::vector<AddedToken> added;

  /// The special tokens that the files name, each once.
  std::vector<std::string> namedSpecial() const;
};
Result<TokenizerConfig> readTokenizerConfig(const std::string &folder);

/// For folders without a tokenizer.json: adds what special_tokens_map.json names, and, if no file names the class, that of config.json's
/// model.
Status completeConfig(const std::string &folder, TokenizerConfig &config);

} // namespace npar::engine
