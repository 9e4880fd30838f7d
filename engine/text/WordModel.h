// Turns a word, which the pre-tokenizers cut off, into tokens.
#pragma once

#include "engine/text/CharacterSet.h"
#include "engine/text/Vocabulary.h"

#include <memory>

namespace npar::engine {

/// For one thread. Made by WordModel::encoder, and no longer used than that.
class WordEncoder {
public:
  virtual ~WordEncoder() = default;
  /// Appends the ids of a word, which is valid UTF-8 and not empty.
  virtual Status encode(std::string_view word, std::vector<int32_t> &ids) = 0;
};

/// Immutable: any number of threads may use it.
class WordModel {
public:
  virtual ~WordModel() = default;
  virtual std::unique_ptr<WordEncoder> encoder() const = 0;
  /// Characters that a token has before a U+2581. After others, a text may be cut before the mark: its parts have the ids of the whole.
  /// Null if a text may not be cut.
  virtual const CharacterSet *joinedToMark() const { return nullptr; }
};

using VocabularyPointer = std::shared_ptr<const Vocabulary>;
using ModelPointer = std::shared_ptr<const WordModel>;

/// The tokens "<0x00>" to "<0xFF>", which stand for bytes; -1 where one is missing.
struct ByteTokens {
  int32_t ids[256];
  explicit ByteTokens(const Vocabulary &vocabulary);
  bool complete() const;
  /// "<0x0A>"
  static std::string nameOf(uint8_t byte);
  /// The byte of such a name; -1 for other texts.
  static int byteOf(std::string_view name);
};

} // namespace npar::engine
