// Converts text to token ids and back, with the tokenizer files that accompany a model's weights. Those files are not trusted.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::engine {

/// Turns a text that comes in parts, cut anywhere, into the ids that the whole text has. Made by Tokenizer::encoder; one text, one thread.
class TextEncoder {
public:
  virtual ~TextEncoder() = default;
  /// Appends the ids that do not depend on later text. Refuses text that is not UTF-8, as Python does, with the byte's position.
  virtual Status push(std::string_view part, std::vector<int32_t> &ids) = 0;
  /// Ends the text: appends the ids that were held back.
  virtual Status finish(std::vector<int32_t> &ids) = 0;
};

/// A part of what a model reads: one token of the tokenizer's own, or all tokens of a text.
struct TextPart {
  int64_t id = -1; ///< -1: the tokens of text number `text`
  int32_t text = 0;
  int32_t type = 0; ///< token type: BERT tells the first text from the second by it
};
using TextForm = std::vector<TextPart>;

/// A vocabulary and the rules that cut a text into its tokens. Immutable: any number of threads may use it.
class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  /// Name for messages: "byte-level BPE", "SentencePiece", "bytes".
  virtual std::string kind() const = 0;
  /// Every id is below this number; not every number below it need be an id.
  virtual int64_t vocabularySize() const = 0;
  /// The id of a token as its file spells it, such as "<|endoftext|>".
  virtual std::optional<int32_t> idOf(const std::string &token) const = 0;
  /// True if the token represents no text, such as the end of a document.
  virtual bool isSpecial(int32_t id) const = 0;
  /// The token that ends a text, if the files define it.
  virtual std::optional<int32_t> endOfText() const = 0;
  /// The token that fills up texts to an equal length, if the files define it.
  virtual std::optional<int32_t> padding() const { return std::nullopt; }
  /// The parts that a text, or a pair of texts, becomes: its tokens and those around it. Empty for a pair if the files define no pairs.
  virtual TextForm form(bool ofPair) const { return ofPair ? TextForm() : TextForm{TextPart()}; }

  /// `additions`: include the tokens that the tokenizer puts around every text, such as Llama's begin of text, as the Python packages do by
  /// default.
  virtual std::unique_ptr<TextEncoder> encoder(bool additions = true) const = 0;
  /// The bytes that an id adds to a text; for a special token its name. They need not be whole characters. `first`: the token is the first
  /// of the text, where SentencePiece drops a space. Refuses a number that is no id.
  virtual Result<std::string> bytesOf(int32_t id, bool first) const = 0;

  /// Encodes a whole text at once.
  Result<std::vector<int32_t>> encode(std::string_view text, bool additions = true) const;
  /// The bytes of all ids; `skipSpecial`: without special tokens.
  Result<std::string> decode(const std::vector<int32_t> &ids, bool skipSpecial = true) const;
};

/// Converts ids one by one to text in whole characters: bytes that begin a UTF-8 sequence wait for its rest.
class TextDecoder {
public:
  explicit TextDecoder(const Tokenizer &tokenizer, bool skipSpecial = true) : tokenizer(tokenizer), skipSpecial(skipSpecial) {}
  /// Returns the text that can be shown now, perhaps none. Bytes that cannot become a character are returned as they are.
  Result<std::string> push(int32_t id);
  /// Returns the bytes that still waited for the rest of a character.
  std::string finish();

private:
  const Tokenizer &tokenizer;
  bool skipSpecial, first = true;
  std::string waiting;
};

/// Selects how a truncation or a padding in a tokenizer.json is treated. Both change how many tokens a text has.
enum class StatedLength {
  Refused,
  Ignored ///< the caller cuts and fills up texts on the right by itself; the left is refused
};

/// Opens the tokenizer of a folder: its `tokenizer.json`, or `vocab.json` with `merges.txt`, or `vocab.txt`, or a SentencePiece model
/// (`tokenizer.model`, `spiece.model`, `sentencepiece.bpe.model`); or one of these files by its path; or "bytes", in which every byte is a
/// token. Features that npar would compute differently are refused by name.
Result<std::shared_ptr<const Tokenizer>> openTokenizer(const std::string &path, StatedLength length = StatedLength::Refused);

/// The end of the prefix of `text` that holds whole UTF-8 characters, or bytes that are none; the bytes after it begin a character.
size_t wholeCharacters(std::string_view text);

} // namespace npar::engine
