// Byte-pair encoding of bytes, as GPT-2 and Llama 3 use it, or of characters, as Llama 2 does: any text has ids.
#pragma once

#include "engine/text/AddedTokens.h"
#include "engine/text/Merges.h"
#include "engine/text/Tokenizer.h"
#include "engine/text/WordCutter.h"

#include <array>
#include <unordered_map>

namespace npar::engine {

/// The smallest tokens of a word, and their spelling in the vocabulary.
enum class Alphabet {
  Bytes,     ///< in byte characters (ByteCharacters.h)
  Characters ///< as they are, with a space as U+2581 (SpaceMark.h); characters without a token are made of bytes, "<0x0A>"
};

/// The contents of tokenizer files, not checked yet.
struct BpeParts {
  Alphabet alphabet = Alphabet::Bytes;
  std::vector<std::pair<std::string, int64_t>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges; ///< in order of priority
  std::vector<AddedToken> added;
  std::vector<CutRule> words;
  bool dropsFirstSpace = false;       ///< for decoded text
  bool wholeWords = false;            ///< a word that is a token becomes that token, whatever its merges (`ignore_merges`)
  std::vector<int64_t> before, after; ///< ids around every text
  std::optional<std::string> endOfText;
};

class BpeTokenizer : public Tokenizer {
public:
  /// Refuses duplicate ids and tokens, ids above 4,194,303, merges that are not tokens and, with characters, a vocabulary that lacks a
  /// byte.
  static Result<std::shared_ptr<const Tokenizer>> create(BpeParts parts);

  std::string kind() const override { return alphabet == Alphabet::Bytes ? "byte-level BPE" : "BPE of characters"; }
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
  explicit BpeTokenizer(const BpeParts &parts)
      : alphabet(parts.alphabet), dropsFirstSpace(parts.dropsFirstSpace), merges(parts.merges.size()) {}
  Status addVocabulary(const BpeParts &parts);
  std::string addSmallest(const std::string &token, int32_t id);
  Status addMerges(const BpeParts &parts);
  Status addAdded(const BpeParts &parts);
  Status addAround(const BpeParts &parts);
  /// The tokens of a word before any merge. Refuses a byte without a token, by its number.
  Status smallest(std::string_view word, std::vector<int32_t> &found) const;

  Alphabet alphabet;
  bool dropsFirstSpace;
  std::vector<Token> tokens;                           ///< by id
  std::unordered_map<std::string, int32_t> ids;        ///< by the token as the file spells it
  std::unordered_map<std::string, int32_t> wholeWords; ///< by bytes; filled if whole words are looked up
  std::array<int32_t, 256> bytes;                      ///< tokens of single bytes; -1: the vocabulary has none
  std::unordered_map<char32_t, int32_t> characters;    ///< tokens of single characters, if the alphabet is Characters
  MergeTable merges;
  AddedTokens added;
  std::vector<CutRule> words;
  std::vector<int32_t> before, after;
  std::optional<int32_t> end;
};

} // namespace npar::engine
