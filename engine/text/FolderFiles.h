// What lies beside a tokenizer's main file in a model's folder.
#pragma once

#include "engine/text/BpeTokenizer.h"

namespace npar::engine {

/// `tokenizer_config.json`, which the transformers package writes. Absent: nothing of it.
struct TokenizerConfig {
  bool exists = false;
  bool addPrefixSpace = false, addEnd = false;
  std::optional<bool> addBegin;
  std::optional<std::string> beginOfText, endOfText;
  std::vector<AddedToken> added;
};
Result<TokenizerConfig> readTokenizerConfig(const std::string &folder);

/// GPT-2's way: vocab.json (token to id) and merges.txt (a pair in each line), with what tokenizer_config.json adds.
Result<BpeParts> partsOfVocabularyAndMerges(const std::string &folder);

} // namespace npar::engine
