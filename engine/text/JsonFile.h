// Reads JSON of tokenizer files, which are not trusted: the vocabulary and the merges as lists, the rest, which is small, as a tree.
#pragma once

#include "engine/json/Json.h"
#include "engine/status/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace npar::engine {

struct TokenizerJson {
  std::vector<std::pair<std::string, int64_t>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<double> scores;   ///< of the tokens, if the vocabulary is a list, as unigram models have it: ids count from 0
  bool vocabularyIsMap = false; ///< else it is a list, or there is none
  Json rest;                    ///< everything except these two
};

/// The location of the vocabulary in a file.
enum class VocabularyPlace { Nowhere, IsTheFile, InTheModel };

/// Reads a file (ReadFile.h). Refuses invalid JSON or UTF-8, duplicate keys, nesting deeper than 32, a tree of more than a million values,
/// and, with the position in the list, merges that are not pairs and tokens without
/// a score.
Result<TokenizerJson> readTokenizerJson(const std::string &path, VocabularyPlace where);

/// The same for a text; messages have no file name.
Result<TokenizerJson> parseTokenizerJson(std::string_view text, VocabularyPlace where);

} // namespace npar::engine
