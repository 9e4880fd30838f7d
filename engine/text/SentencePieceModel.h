// Reads fields of a SentencePiece model file (a protocol buffer) that its library does not expose, and checks whether the library may load
// it.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <string_view>

namespace npar::engine {

struct SentencePieceModel {
  /// True if a text may be cut at a space between two letters, and its halves encoded separately, without that space. This holds for
  /// byte-pair models that put a space before every text and have no piece with a space after another character: no merge joins across a
  /// space. (Unigram models add up scores over the whole text, with rounding, so they are never cut.)
  bool cutsAtSpaces = false;
  bool dropsFirstSpace = true;                ///< the first piece of a text loses its space when it is decoded
  std::string unknownText = " \xe2\x81\x87 "; ///< text of the unknown piece
};

/// Reads the fields that npar needs. The library reads some of the rest without a check (the table of its normalizer), so this refuses: an
/// invalid protocol buffer, no or more than 16,777,216 pieces, pieces that are empty, too long or not UTF-8, a table with references
/// outside of itself, and a denormalizer, which npar does not apply.
Result<SentencePieceModel> readSentencePieceModel(std::string_view bytes);

} // namespace npar::engine
