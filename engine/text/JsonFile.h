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
  bool vocabularyIsMap = false; ///< other kinds of models have a list
  Json rest;                    ///< everything except these two
};

/// The location of the vocabulary in a file.
enum class Vocabulary { Nowhere, IsTheFile, InTheModel };

/// Reads a file (ReadFile.h). Refuses invalid JSON or UTF-8, duplicate keys, nesting deeper than 32, a tree of more than a million values,
/// and, with the position in the list, merges that are not pairs.
Result<TokenizerJson> readTokenizerJson(const std::string &path, Vocabulary where);

/// The same for a text; messages have no file name.
Result<TokenizerJson> parseTokenizerJson(std::string_view text, Vocabulary where);

} // namespace npar::engine
