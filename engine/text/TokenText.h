// The text that tokens add to a decoded text: the decoders of a tokenizer file.
#pragma once

#include "engine/text/Vocabulary.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

/// The spelling of tokens in a vocabulary.
struct Spelling {
  enum class Kind {
    Plain,          ///< as they are
    Spaced,         ///< as they are, with spaces between them
    ByteCharacters, ///< in byte characters (ByteCharacters.h)
    Marked,         ///< with `mark` for a space
    WordPiece       ///< with `mark` before tokens that continue a word
  };
  Kind kind = Kind::Plain;
  std::string mark;
  bool byteNames = false;       ///< "<0x0A>" is a byte
  bool dropsFirstSpace = false; ///< the first token of a text loses a space that it begins with
  bool firstLosesMarks = false; ///< the first token loses all of its marks
  bool cleansUp = false;        ///< takes spaces before punctuation away, as BERT's decoder does
};

struct TokenText {
  std::string usual, first; ///< within a text, and at its beginning
};
TokenText textOfToken(const Spelling &spelling, const std::string &token);

} // namespace npar::engine
