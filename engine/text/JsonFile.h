// JSON of tokenizer files, read without trust: the vocabulary and the merges as lists, the rest, which is small, as a tree.
#pragma once

#include "engine/status/Status.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace npar::engine {

struct TokenizerJson {
  std::vector<std::pair<std::string, int64_t>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
  bool vocabularyIsMap = false; ///< other kinds of models have a list
  nlohmann::json rest;          ///< without the two
};

/// Where the vocabulary stands in a file.
enum class Vocabulary { Nowhere, IsTheFile, InTheModel };

/// Reads a file (ReadFile.h). Refused are what is no JSON or no UTF-8, keys that are there twice, nesting deeper than 32, a tree of more
/// than a million values, and, with the position in the list, merges that are no pairs.
Result<TokenizerJson> readTokenizerJson(const std::string &path, Vocabulary where);

/// The same of a text; messages have no file name.
Result<TokenizerJson> parseTokenizerJson(std::string_view text, Vocabulary where);

} // namespace npar::engine
