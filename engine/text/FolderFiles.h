// Reads the files that accompany a tokenizer's main file in a model's folder.
#pragma once

#include "engine/text/BpeTokenizer.h"

namespace npar::engine {

/// `tokenizer_config.json`, as the transformers package writes it; all fields have their defaults if it is absent.
struct TokenizerConfig {
  bool exists = false;
  bool addPrefixSpace = false, addEnd = false;
  std::optional<bool> addBegin;
  std::optional<std::string> beginOfText, endOfText;
  std::vector<AddedToken> added;
};
Result<TokenizerConfig> readTokenizerConfig(const std::string &folder);

/// GPT-2's format: vocab.json (token to id) and merges.txt (a pair in each line), with the additions of tokenizer_config.json.
Result<BpeParts> partsOfVocabularyAndMerges(const std::string &folder);

} // namespace npar::engine
