// Text to token numbers and back, with the tokenizer files that lie beside a model's weights. Those files are not trusted.
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
  /// Appends the ids that are certain whatever comes next. Refuses text that is not UTF-8, as Python does, with the byte's position.
  virtual Status push(std::string_view part, std::vector<int32_t> &ids) = 0;
  /// The text is over: appends what was held back.
  virtual Status finish(std::vector<int32_t> &ids) = 0;
};

/// A vocabulary and the rules that cut a text into its tokens. Immutable: any number of threads may use it.
class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  /// What messages call it: "byte-level BPE", "SentencePiece", "bytes".
  virtual std::string kind() const = 0;
  /// Every id is below it; not every number below it need be an id.
  virtual int64_t vocabularySize() const = 0;
  /// The id of a token as its file spells it, such as "<|endoftext|>".
  virtual std::optional<int32_t> idOf(const std::string &token) const = 0;
  /// Whether the token stands for no text, such as the end of a document.
  virtual bool isSpecial(int32_t id) const = 0;
  /// The token after which a text is over, where the files say which it is.
  virtual std::optional<int32_t> endOfText() const = 0;

  /// `additions`: with the tokens that the tokenizer puts around every text, such as Llama's begin of text; as the Python packages by
  /// default.
  virtual std::unique_ptr<TextEncoder> encoder(bool additions = true) const = 0;
  /// The bytes that an id adds to a text; a special token's are its name. They need not be whole characters. `first`: nothing comes before
  /// it, where SentencePiece drops a space. Refuses what is no id.
  virtual Result<std::string> bytesOf(int32_t id, bool first) const = 0;

  /// The whole text at once.
  Result<std::vector<int32_t>> encode(std::string_view text, bool additions = true) const;
  /// The bytes of all ids; `skipSpecial`: without special tokens.
  Result<std::string> decode(const std::vector<int32_t> &ids, bool skipSpecial = true) const;
};

/// Gives the text of ids that come one by one, in whole characters: bytes that begin a UTF-8 sequence wait for its rest.
class TextDecoder {
public:
  explicit TextDecoder(const Tokenizer &tokenizer, bool skipSpecial = true) : tokenizer(tokenizer), skipSpecial(skipSpecial) {}
  /// What can be shown now, perhaps nothing. Bytes that can become no character are given as they are.
  Result<std::string> push(int32_t id);
  /// What still waited, though its rest never came.
  std::string finish();

private:
  const Tokenizer &tokenizer;
  bool skipSpecial, first = true;
  std::string waiting;
};

/// Opens the tokenizer of a folder: its `tokenizer.json`, or `vocab.json` with `merges.txt`, or `tokenizer.model` (SentencePiece); or one
/// of these files by its path; or "bytes", by which every byte is a token. What npar would compute differently is refused by name.
Result<std::shared_ptr<const Tokenizer>> openTokenizer(const std::string &path);

/// Where a prefix of `text` that holds whole UTF-8 characters, or bytes that are none, ends: the bytes after it begin a character.
size_t wholeCharacters(std::string_view text);

} // namespace npar::engine
