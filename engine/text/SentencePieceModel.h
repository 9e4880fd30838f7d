// What a SentencePiece model file (a protocol buffer) says that its library does not tell, and whether the library may be given it.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <string_view>

namespace npar::engine {

struct SentencePieceModel {
  /// A text may be cut at a space between two letters and its halves, without that space, encoded by themselves. So it is in
  /// byte-pair models that put a space before every text and have no piece with a space after another character: no merge joins what
  /// the space parts. (Unigram models add up scores over the whole text, with rounding: they are never cut.)
  bool cutsAtSpaces = false;
  bool dropsFirstSpace = true;                ///< the first piece of a text loses its space when it is decoded
  std::string unknownText = " \xe2\x81\x87 "; ///< of the unknown piece
};

/// Reads the fields that it needs. The library reads some of the rest without a check (the table of its normalizer), so this refuses: what
/// is no protocol buffer, no or more than 16,777,216 pieces, pieces that are empty, too long or not UTF-8, a table that leads outside of
/// itself, and a denormalizer, which npar does not apply.
Result<SentencePieceModel> readSentencePieceModel(std::string_view bytes);

} // namespace npar::engine
