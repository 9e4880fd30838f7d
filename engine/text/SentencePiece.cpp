// Adds to the library what it lacks: parts of texts, untrusted files, and whole bytes.
#include "engine/text/SentencePiece.h"

#include "engine/text/FolderFiles.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/SentencePieceModel.h"
#include "engine/text/SpaceMark.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sentencepiece_processor.h>

namespace npar::engine {
namespace {

using sentencepiece::SentencePieceProcessor;

constexpr size_t leastPart = size_t{1} << 16;     // bytes that are encoded together
constexpr size_t leastCut = 2048;                 // bytes that are encoded together, if they can be cut
constexpr size_t longestPart = size_t{256} << 20; // the library's numbers have 32 bits

class SentencePiece : public Tokenizer {
public:
  std::string kind() const override { return "SentencePiece"; }
  int64_t vocabularySize() const override { return processor.GetPieceSize(); }
  std::optional<int32_t> idOf(const std::string &token) const override {
    int id = processor.PieceToId(token);
    return processor.IdToPiece(id) == token ? std::optional<int32_t>(id) : std::nullopt;
  }
  bool isSpecial(int32_t id) const override { return isId(id) && processor.IsControl(id); }
  std::optional<int32_t> endOfText() const override {
    return processor.eos_id() < 0 ? std::nullopt : std::optional<int32_t>(processor.eos_id());
  }
  std::unique_ptr<TextEncoder> encoder(bool additions) const override;
  Result<std::string> bytesOf(int32_t id, bool first) const override;

  bool isId(int32_t id) const { return id >= 0 && id < processor.GetPieceSize(); }
  SentencePieceProcessor processor;
  SentencePieceModel model;
  std::vector<int32_t> before, after;
};

Result<std::string> SentencePiece::bytesOf(int32_t id, bool first) const {
  if (!isId(id))
    return Status::badInput(std::to_string(id) + " is no id of the tokenizer, whose vocabulary has " + std::to_string(vocabularySize()));
  const std::string &piece = processor.IdToPiece(id);
  if (processor.IsControl(id))
    return std::string();
  if (processor.IsUnknown(id))
    return model.unknownText;
  if (processor.IsByte(id)) // "<0x0A>"
    return std::string(1, static_cast<char>(std::strtol(piece.c_str() + 3, nullptr, 16)));
  std::string text;
  for (size_t at = 0; at < piece.size();) {
    bool isSpace = std::string_view(piece).substr(at, spaceMark.size()) == spaceMark;
    if (!isSpace)
      text += piece[at];
    else if (at > 0 || !first || !model.dropsFirstSpace)
      text += ' ';
    at += isSpace ? spaceMark.size() : 1;
  }
  return text;
}

class SentencePieceEncoder : public TextEncoder {
public:
  SentencePieceEncoder(const SentencePiece &tokenizer, bool additions) : tokenizer(tokenizer), additions(additions) {}
  Status push(std::string_view part, std::vector<int32_t> &ids) override;
  Status finish(std::vector<int32_t> &ids) override;

private:
  Status check(bool goesOn);
  Status encode(size_t begin, size_t end, std::vector<int32_t> &ids);
  Status encodeCuts(std::vector<int32_t> &ids);
  size_t cutAfter(size_t from) const;
  const SentencePiece &tokenizer;
  bool additions, begun = false;
  std::string text;
  size_t valid = 0, enough = leastPart;
  uint64_t encoded = 0;
};

Status SentencePieceEncoder::check(bool goesOn) {
  Utf8Extent extent = utf8Extent(text, valid);
  valid = extent.end;
  if (extent.damaged || (!goesOn && valid < text.size()))
    return notUtf8(static_cast<uint8_t>(text[valid]), encoded + valid);
  return {};
}

/// The first place at or after `from` where the text may be cut: at a space between two letters, which is left out, because the library
/// puts one before every text. 0: there is none.
size_t SentencePieceEncoder::cutAfter(size_t from) const {
  auto letter = [&](size_t i) { return (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z'); };
  for (size_t at = std::max<size_t>(from, 1); tokenizer.model.cutsAtSpaces && at + 1 < valid; ++at)
    if (text[at] == ' ' && letter(at - 1) && letter(at + 1))
      return at;
  return 0;
}

Status SentencePieceEncoder::encode(size_t begin, size_t end, std::vector<int32_t> &ids) {
  if (!begun && additions)
    ids.insert(ids.end(), tokenizer.before.begin(), tokenizer.before.end());
  begun = true;
  std::vector<int> found;
  sentencepiece::util::Status status = tokenizer.processor.Encode({text.data() + begin, end - begin}, &found);
  if (!status.ok())
    return Status::badInput("libsentencepiece cannot encode the text: " + status.ToString());
  ids.insert(ids.end(), found.begin(), found.end());
  return {};
}

/// Encodes the part of the text that can be cut off, in small pieces, because the library's time grows faster than linearly.
Status SentencePieceEncoder::encodeCuts(std::vector<int32_t> &ids) {
  size_t begin = 0;
  for (size_t end; (end = cutAfter(begin + leastCut)) > 0; begin = end + 1)
    if (Status status = encode(begin, end, ids); !status.ok())
      return status;
  text.erase(0, begin);
  valid -= begin, encoded += begin;
  return {};
}

Status SentencePieceEncoder::push(std::string_view part, std::vector<int32_t> &ids) {
  text += part;
  if (text.size() < enough)
    return {};
  if (Status status = check(/*goesOn=*/true); !status.ok())
    return status;
  if (Status status = encodeCuts(ids); !status.ok())
    return status;
  enough = std::max(leastPart, 2 * text.size());
  if (text.size() <= longestPart)
    return {};
  return Status::badInput(
      "a SentencePiece model must read the whole text if it cannot be cut at a space between letters, but it has more than " +
      std::to_string(longestPart) + " bytes, from byte " + std::to_string(encoded) + " on: split the text into several files");
}

Status SentencePieceEncoder::finish(std::vector<int32_t> &ids) {
  if (Status status = check(/*goesOn=*/false); !status.ok())
    return status;
  if (Status status = encodeCuts(ids); !status.ok())
    return status;
  if (Status status = encode(0, text.size(), ids); !status.ok())
    return status;
  if (additions)
    ids.insert(ids.end(), tokenizer.after.begin(), tokenizer.after.end());
  return {};
}

std::unique_ptr<TextEncoder> SentencePiece::encoder(bool additions) const {
  return std::make_unique<SentencePieceEncoder>(*this, additions);
}

/// Tokens that other files add are the model's own, or texts would have other ids than they say.
Status checkAdded(const std::vector<AddedToken> &added, const std::string &file, const SentencePiece &tokenizer) {
  for (const AddedToken &token : added) {
    int32_t id = static_cast<int32_t>(std::min<int64_t>(token.id, INT32_MAX));
    if (!tokenizer.isId(id) || tokenizer.processor.IdToPiece(id) != token.text)
      return Status::badInput(file + " gives the id " + std::to_string(token.id) + " to " + inQuotes(token.text) +
                              ", which the model does not");
  }
  return {};
}

/// Adds the ids that a folder's tokenizer_config.json requests around every text; the model's own file does not have them.
void addAround(const TokenizerConfig &config, SentencePiece &tokenizer) {
  if (config.exists && config.addBegin.value_or(true) && tokenizer.processor.bos_id() >= 0)
    tokenizer.before.push_back(tokenizer.processor.bos_id());
  if (config.addEnd && tokenizer.processor.eos_id() >= 0)
    tokenizer.after.push_back(tokenizer.processor.eos_id());
}

} // namespace

Result<std::shared_ptr<const Tokenizer>> openSentencePiece(const std::string &path, const std::vector<AddedToken> &added) {
  Result<std::string> bytes = readTokenizerFile(path);
  if (!bytes.ok())
    return bytes.status();
  auto result = std::make_shared<SentencePiece>();
  Result<SentencePieceModel> model = readSentencePieceModel(*bytes);
  if (!model.ok())
    return tokenizerFailure(path, model.status().message());
  result->model = std::move(*model);
  if (auto status = result->processor.LoadFromSerializedProto(*bytes); !status.ok())
    return tokenizerFailure(path, "libsentencepiece refuses it: " + status.ToString());
  std::string folder = std::filesystem::path(path).parent_path().string();
  Result<TokenizerConfig> config = readTokenizerConfig(folder.empty() ? "." : folder);
  if (!config.ok())
    return config.status();
  for (Status status : {checkAdded(added, "tokenizer.json", *result), checkAdded(config->added, "tokenizer_config.json", *result)})
    if (!status.ok())
      return tokenizerFailure(path, status.message());
  addAround(*config, *result);
  return std::shared_ptr<const Tokenizer>(std::move(result));
}

} // namespace npar::engine
