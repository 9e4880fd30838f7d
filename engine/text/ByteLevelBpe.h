// Byte-level byte-pair encoding, as GPT-2 and Llama 3 use it: every byte has a token, so that any text has ids.
#pragma once

#include "engine/text/AddedTokens.h"
#include "engine/text/Merges.h"
#include "engine/text/Tokenizer.h"
#include "engine/text/WordCutter.h"

#include <array>
#include <unordered_map>

namespace npar::engine {

/// What tokenizer files say, not checked yet.
struct BpeParts {
  std::vector<std::pair<std::string, int64_t>> vocabulary; ///< tokens in byte characters (ByteCharacters.h)
  std::vector<std::pair<std::string, std::string>> merges; ///< first ones first
  std::vector<AddedToken> added;
  std::vector<CutRule> words;
  bool wholeWords = false;            ///< a word that is a token is that token, whatever its merges (`ignore_merges`)
  std::vector<int64_t> before, after; ///< ids around every text
  std::optional<std::string> endOfText;
};

class ByteLevelBpe : public Tokenizer {
public:
  /// Refuses ids and tokens that are there twice, ids above 16,777,215, merges of no tokens.
  static Result<std::shared_ptr<const Tokenizer>> create(BpeParts parts);

  std::string kind() const override { return "byte-level BPE"; }
  int64_t vocabularySize() const override { return static_cast<int64_t>(tokens.size()); }
  std::optional<int32_t> idOf(const std::string &token) const override;
  bool isSpecial(int32_t id) const override;
  std::optional<int32_t> endOfText() const override { return end; }
  std::unique_ptr<TextEncoder> encoder(bool additions) const override;
  Result<std::string> bytesOf(int32_t id, bool first) const override;

private:
  friend class BpeEncoder;
  struct Token {
    std::string bytes;
    bool exists = false, special = false;
  };
  explicit ByteLevelBpe(size_t merges) : merges(merges) {}
  Status addVocabulary(const BpeParts &parts);
  Status addMerges(const BpeParts &parts);
  Status addAdded(const BpeParts &parts);
  Status addAround(const BpeParts &parts);

  std::vector<Token> tokens;                           ///< by id
  std::unordered_map<std::string, int32_t> ids;        ///< by the token as the file spells it
  std::unordered_map<std::string, int32_t> wholeWords; ///< by bytes; filled where words are looked up whole
  std::array<int32_t, 256> bytes;                      ///< tokens of single bytes; -1: the vocabulary has none
  MergeTable merges;
  AddedTokens added;
  std::vector<CutRule> words;
  std::vector<int32_t> before, after;
  std::optional<int32_t> end;
};

} // namespace npar::engine
