// Reads the few messages needed from sentencepiece_model.proto of SentencePiece 0.1.97.
#include "engine/text/SentencePieceModel.h"

#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/SpaceMark.h"
#include "engine/text/Utf8.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace npar::engine {
namespace {

constexpr size_t mostPieces = mostTokens, longestPiece = 4096;

/// The fields of a message, one after the other.
class Message {
public:
  explicit Message(std::string_view bytes) : rest(bytes) {}
  bool damaged = false;
  uint32_t field = 0;
  uint64_t number = 0;    ///< value of a numeric field
  std::string_view bytes; ///< contents of a length-delimited field

  bool next() {
    if (rest.empty() || damaged)
      return false;
    uint64_t key = varint();
    field = static_cast<uint32_t>(key >> 3);
    bytes = {};
    switch (key & 7) {
    case 0:
      number = varint();
      break;
    case 1:
      take(8);
      break;
    case 2:
      bytes = take(varint());
      break;
    case 5:
      take(4);
      break;
    default:
      damaged = true;
    }
    return !damaged;
  }

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      uint8_t byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (!(byte & 0x80))
        return value;
    }
    damaged = true;
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (size > rest.size()) {
      damaged = true;
      return {};
    }
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  std::string_view rest;
};

struct Spec {
  uint64_t kind = 1; ///< 1: unigram, 2: byte pairs
  bool spaceAfter = false, spaceBefore = true, dropsExtraSpaces = true, marksSpaces = true;
  bool denormalizes = false;
  size_t pieces = 0;
  bool innerSpace = false; ///< a piece has a space after another character
  bool hasSpace = false;   ///< a space alone is a piece
};

/// The table of a normalizer: a length, a double array of units (darts-clone) as long, texts that end with a zero byte.
bool staysInside(std::string_view table) {
  uint32_t length = 0;
  if (table.size() <= sizeof(length))
    return false;
  std::memcpy(&length, table.data(), sizeof(length));
  table.remove_prefix(sizeof(length));
  if (length >= table.size() || length % 4 || length == 0 || table.back() != '\0')
    return false;
  std::vector<uint32_t> units(length / 4);
  std::memcpy(units.data(), table.data(), length);
  size_t texts = table.size() - length;
  auto offsetOf = [](uint32_t unit) { return size_t{unit >> 10} << ((unit & (1U << 9)) >> 6); };

  // A place is the base of a node's children: the child of byte b is at place ^ b.
  std::vector<bool> seen(units.size());
  std::vector<size_t> ahead = {offsetOf(units[0])};
  while (!ahead.empty()) {
    size_t place = ahead.back();
    ahead.pop_back();
    if ((place | 0xff) >= units.size())
      return false;
    if (seen[place])
      continue;
    seen[place] = true;
    for (size_t byte = 0; byte < 256; ++byte) {
      size_t child = place ^ byte;
      uint32_t unit = units[child];
      if ((unit & (1U << 31 | 0xffU)) != byte)
        continue;
      size_t next = child ^ offsetOf(unit);
      bool ends = unit >> 8 & 1;
      if (ends && (next >= units.size() || (units[next] & 0x7fffffffU) >= texts))
        return false;
      ahead.push_back(next);
    }
  }
  return true;
}

std::string readPiece(std::string_view message, Spec &spec) {
  std::string_view piece;
  uint64_t type = 1;
  Message fields(message);
  while (fields.next())
    if (fields.field == 1)
      piece = fields.bytes;
    else if (fields.field == 3)
      type = fields.number;
  std::string which = "piece " + std::to_string(spec.pieces++);
  Utf8Extent extent = utf8Extent(piece);
  if (fields.damaged || piece.empty() || piece.size() > longestPiece)
    return which + " is damaged, empty or longer than " + std::to_string(longestPiece) + " bytes";
  if (extent.damaged || extent.end < piece.size() || piece.find('\0') != std::string_view::npos)
    return which + " is not UTF-8";
  constexpr uint64_t byteType = 6;
  if (type == byteType &&
      (piece.size() != 6 || piece.substr(0, 3) != "<0x" || piece[5] != '>' || piece.find_first_not_of("0123456789ABCDEF", 3) != 5))
    return which + ", " + inQuotes(piece) + ", is no byte";
  spec.innerSpace |= hasInnerMark(piece);
  spec.hasSpace |= piece == spaceMark;
  return "";
}

std::string readNormalizer(std::string_view message, Spec &spec, bool back) {
  Message fields(message);
  while (fields.next()) {
    if (fields.field == 2 && !fields.bytes.empty() && back)
      return "it has a denormalizer, which npar does not apply";
    if (fields.field == 2 && !fields.bytes.empty() && !staysInside(fields.bytes))
      return "the table of its normalizer is damaged";
    if (back)
      continue;
    if (fields.field == 3)
      spec.spaceBefore = fields.number != 0;
    if (fields.field == 4)
      spec.dropsExtraSpaces = fields.number != 0;
    if (fields.field == 5)
      spec.marksSpaces = fields.number != 0;
  }
  return fields.damaged ? "its normalizer is damaged" : "";
}

} // namespace

Result<SentencePieceModel> readSentencePieceModel(std::string_view bytes) {
  SentencePieceModel model;
  Spec spec;
  Message message(bytes);
  while (message.next()) {
    std::string wrong;
    if (message.field == 1)
      wrong = spec.pieces < mostPieces ? readPiece(message.bytes, spec) : "it has more than " + std::to_string(mostPieces) + " pieces";
    if (message.field == 3 || message.field == 5)
      wrong = readNormalizer(message.bytes, spec, /*back=*/message.field == 5);
    if (message.field == 2) {
      Message fields(message.bytes);
      while (fields.next()) {
        if (fields.field == 3)
          spec.kind = fields.number;
        if (fields.field == 24)
          spec.spaceAfter = fields.number != 0;
        if (fields.field == 44)
          model.unknownText = fields.bytes;
      }
      wrong = fields.damaged ? "its training settings are damaged" : "";
    }
    if (!wrong.empty())
      return Status::badInput(wrong);
  }
  if (message.damaged || spec.pieces == 0)
    return Status::badInput("it is no SentencePiece model, or cut short");
  if (spec.spaceAfter)
    return Status::badInput("its pieces have their space at the end (treat_whitespace_as_suffix), which npar does not know");
  constexpr uint64_t bytePairs = 2;
  model.cutsAtSpaces = spec.kind == bytePairs && spec.spaceBefore && spec.marksSpaces && spec.hasSpace && !spec.innerSpace;
  model.dropsFirstSpace = spec.spaceBefore || spec.dropsExtraSpaces;
  return model;
}

} // namespace npar::engine
