// Reads the messages of sentencepiece_model.proto that determine the ids of texts.
#include "engine/text/SentencePieceModel.h"

#include "engine/text/ProtocolBuffer.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/Utf8.h"
#include "engine/text/WordModel.h"

namespace npar::engine {
namespace {

constexpr size_t longestPiece = 4096;

Status readPiece(std::string_view message, SentencePieceModel &model) {
  std::string which = "piece " + std::to_string(model.pieces.size());
  if (model.pieces.size() == mostTokens)
    return Status::badInput("it has more than " + std::to_string(mostTokens) + " pieces");
  SentencePieceModel::Piece piece;
  uint64_t type = 1;
  Message fields(message);
  while (fields.next()) {
    if (fields.field == 1)
      piece.text = fields.bytes;
    if (fields.field == 2)
      piece.score = fields.real;
    if (fields.field == 3)
      type = fields.number;
  }
  Utf8Extent extent = utf8Extent(piece.text);
  if (fields.damaged || piece.text.empty() || piece.text.size() > longestPiece)
    return Status::badInput(which + " is damaged, empty or longer than " + std::to_string(longestPiece) + " bytes");
  if (extent.damaged || extent.end < piece.text.size() || piece.text.find('\0') != std::string::npos)
    return Status::badInput(which + " is not UTF-8");
  if (type < 1 || type > 6)
    return Status::badInput(which + ", " + inQuotes(piece.text) + ", has the type " + std::to_string(type) + ", which npar does not know");
  piece.type = static_cast<SentencePieceModel::Type>(type);
  if (piece.type == SentencePieceModel::Type::Byte && ByteTokens::byteOf(piece.text) < 0)
    return Status::badInput(which + ", " + inQuotes(piece.text) + ", is no byte");
  if (!(piece.score - piece.score == 0))
    return Status::badInput(which + ", " + inQuotes(piece.text) + ", has a score that is no number");
  model.pieces.push_back(std::move(piece));
  return {};
}

Status readNormalizer(std::string_view message, SentencePieceModel &model) {
  Message fields(message);
  while (fields.next()) {
    if (fields.field == 2)
      model.charsMap = fields.bytes;
    if (fields.field == 3)
      model.spaceBefore = fields.number != 0;
    if (fields.field == 4)
      model.dropsExtraSpaces = fields.number != 0;
    if (fields.field == 5)
      model.marksSpaces = fields.number != 0;
  }
  return fields.damaged ? Status::badInput("its normalizer is damaged") : Status();
}

Status readDenormalizer(std::string_view message) {
  Message fields(message);
  while (fields.next())
    if (fields.field == 2 && !fields.bytes.empty())
      return Status::badInput("it has a denormalizer, which npar does not apply");
  return fields.damaged ? Status::badInput("its denormalizer is damaged") : Status();
}

Status readTraining(std::string_view message, SentencePieceModel &model) {
  Message fields(message);
  while (fields.next()) {
    if (fields.field == 3 && (fields.number < 1 || fields.number > 4))
      return Status::badInput("it has the kind " + std::to_string(fields.number) + ", which npar does not know");
    if (fields.field == 3)
      model.kind = static_cast<SentencePieceModel::Kind>(fields.number);
    if (fields.field == 24 && fields.number != 0)
      return Status::badInput("its pieces have their space at the end (treat_whitespace_as_suffix), which npar does not know");
    if (fields.field == 35)
      model.byteFallback = fields.number != 0;
    if (fields.field == 44)
      model.unknownText = fields.bytes;
    if (fields.field == 46)
      model.begin = fields.bytes;
    if (fields.field == 47)
      model.end = fields.bytes;
  }
  return fields.damaged ? Status::badInput("its training settings are damaged") : Status();
}

} // namespace

Result<SentencePieceModel> readSentencePieceModel(std::string_view bytes) {
  SentencePieceModel model;
  Message message(bytes);
  while (message.next()) {
    if (message.field == 1)
      TRY_STATUS(readPiece(message.bytes, model));
    if (message.field == 2)
      TRY_STATUS(readTraining(message.bytes, model));
    if (message.field == 3)
      TRY_STATUS(readNormalizer(message.bytes, model));
    if (message.field == 5)
      TRY_STATUS(readDenormalizer(message.bytes));
  }
  if (message.damaged || model.pieces.empty())
    return Status::badInput("it is no SentencePiece model, or cut short");
  return model;
}

} // namespace npar::engine
