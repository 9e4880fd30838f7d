// The contents of a SentencePiece model file (sentencepiece_model.proto).
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace npar::engine {

struct SentencePieceModel {
  enum class Kind { Unigram = 1, BytePairs = 2, Words = 3, Characters = 4 };
  enum class Type { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::Normal;
  };
  Kind kind = Kind::Unigram;
  std::vector<Piece> pieces;
  std::string charsMap;                       ///< table of the normalizer (CharsMap.h)
  bool spaceBefore = true;                    ///< puts a space before every text
  bool dropsExtraSpaces = true;               ///< at the ends, and repeated ones
  bool marksSpaces = true;                    ///< writes them as U+2581
  bool byteFallback = false;                  ///< unknown characters are made of byte pieces
  std::string unknownText = " \xe2\x81\x87 "; ///< text of the unknown piece
  std::string begin = "<s>", end = "</s>";
};

/// Refuses an invalid protocol buffer, no or more than 4,194,304 pieces, pieces that are empty, longer than 4,096 bytes or not UTF-8, a
/// piece of no known type, and settings that npar does not know: a denormalizer, and spaces at the end of pieces.
Result<SentencePieceModel> readSentencePieceModel(std::string_view bytes);

} // namespace npar::engine
