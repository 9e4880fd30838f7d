// A tokenizer of the usual parts: normalizers, added tokens, pre-tokenizers, a model of words, tokens around every text, and decoders.
#pragma once

#include "engine/text/AddedTokens.h"
#include "engine/text/BpeModel.h"
#include "engine/text/Normalizer.h"
#include "engine/text/TokenText.h"
#include "engine/text/Tokenizer.h"
#include "engine/text/UnigramModel.h"
#include "engine/text/WordCutter.h"
#include "engine/text/WordPieceModel.h"

#include <functional>

namespace npar::engine {

/// The contents of tokenizer files, not checked yet.
struct PipelineParts {
  std::string kind; ///< for messages, such as "byte-level BPE"
  TokenList vocabulary;
  int64_t emptyTokens = 0; ///< of the files, which the vocabulary leaves out
  std::function<Result<ModelPointer>(VocabularyPointer)> model;
  Normalizers normalizers;
  std::vector<AddedToken> added;
  std::vector<CutRule> cuts;
  std::vector<int64_t> before, after; ///< ids around every text
  std::vector<int32_t> types;         ///< token types of `before`, the text and `after`; empty: all are 0
  TextForm pair;                      ///< of two texts; empty: they have no form
  std::vector<int64_t> silent;        ///< tokens that represent no text and have none of their own, such as SentencePiece's control tokens
  std::vector<std::pair<int64_t, std::string>> texts; ///< decoded texts that do not follow from the spelling
  Spelling spelling;
  std::optional<std::string> endOfText, padding;

  /// [CLS] a [SEP] b [SEP] with the types 0 0 0 1 1, or with `separators` 2 and one type RoBERTa's <s> a </s></s> b </s>. Needs `before`
  /// and `after`.
  void pairLike(int separators, int32_t secondType);
  /// The id of a token that is added or in the vocabulary.
  std::optional<int64_t> idOf(const std::string &token) const;
};

class Pipeline : public Tokenizer, public std::enable_shared_from_this<Pipeline> {
public:
  /// Refuses what Vocabulary and the model refuse, added tokens that are empty or longer than 512 bytes, and ids around texts that no token
  /// has.
  static Result<std::shared_ptr<const Tokenizer>> create(PipelineParts parts);

  std::string kind() const override { return parts.kind; }
  int64_t vocabularySize() const override { return static_cast<int64_t>(tokens.size()); }
  std::optional<int32_t> idOf(const std::string &token) const override;
  bool isSpecial(int32_t id) const override;
  std::optional<int32_t> endOfText() const override { return end; }
  std::optional<int32_t> padding() const override { return fill; }
  TextForm form(bool ofPair) const override;
  std::unique_ptr<TextEncoder> encoder(bool additions) const override;
  Result<std::string> bytesOf(int32_t id, bool first) const override;

private:
  friend class PipelineEncoder;
  struct Token {
    TokenText text;
    bool exists = false, special = false;
  };
  explicit Pipeline(PipelineParts given) : parts(std::move(given)) {}
  Status addVocabulary();
  Status addAdded();
  Status addAround();
  Token &tokenAt(int64_t id);

  PipelineParts parts;
  VocabularyPointer vocabulary;
  ModelPointer model;
  std::vector<Token> tokens; ///< by id
  std::unordered_map<std::string, int32_t> addedIds;
  TokenTrie first, second; ///< tokens found before and after the text is normalized
  std::vector<int32_t> before, after;
  std::optional<int32_t> end, fill;
};

} // namespace npar::engine
