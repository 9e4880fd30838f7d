// Reads the header of a message and its bytes, and checks what JSON-RPC asks of it.
#include "tools/npar/lsp/MessageInput.h"

#include <algorithm>
#include <optional>

namespace npar::driver {
namespace {

namespace json = llvm::json;
using llvm::lsp::ErrorCode;

constexpr uint64_t largestMessage = uint64_t{64} << 20;
constexpr int deepest = 200;

/// The next line without its end; nothing at the end of the input.
std::optional<std::string> readLine(std::FILE *in) {
  std::string line;
  for (int c; (c = std::getc(in)) != EOF;) {
    if (c == '\n')
      return line;
    if (c != '\r' && line.size() < 4096) // no header is longer
      line += static_cast<char>(c);
  }
  return std::nullopt;
}

/// The length that a header states; nothing if it is another header or no number.
std::optional<uint64_t> lengthIn(llvm::StringRef line) {
  uint64_t length = 0;
  if (!line.consume_front_insensitive("content-length:"))
    return std::nullopt;
  line = line.trim();
  if (line.empty() || line.find_first_not_of("0123456789") != llvm::StringRef::npos)
    return std::nullopt;
  return line.getAsInteger(10, length) ? UINT64_MAX : length; // too large for 64 bits
}

bool nestsTooDeeply(const std::string &text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted)
      quoted = c != '"', i += c == '\\' ? 1 : 0;
    else if (c == '"')
      quoted = true;
    else if ((depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0) > deepest)
      return true;
  }
  return false;
}

std::string invalid(ErrorCode code, const std::string &message, json::Value id = nullptr) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(
      json::Object{{"jsonrpc", "2.0"},
                   {"id", std::move(id)},
                   {"method", invalidMessage},
                   {"params", json::Object{{"code", static_cast<int64_t>(code)}, {"message", json::fixUTF8(message)}}}});
  return text;
}

/// The message itself if it is one, otherwise the request that stands for it.
std::string checked(std::string text) {
  if (nestsTooDeeply(text))
    return invalid(ErrorCode::InvalidRequest, "the message nests deeper than " + std::to_string(deepest) + " levels");
  llvm::Expected<json::Value> read = json::parse(text);
  if (!read)
    return invalid(ErrorCode::ParseError, "the message is no JSON: " + llvm::toString(read.takeError()));
  const json::Object *object = read->getAsObject();
  if (!object)
    return invalid(ErrorCode::InvalidRequest, "a message is a JSON object");
  const json::Value *id = object->get("id"), *method = object->get("method");
  json::Value given = id ? *id : nullptr;
  if (object->getString("jsonrpc") != llvm::StringRef("2.0"))
    return invalid(ErrorCode::InvalidRequest, "a message has \"jsonrpc\": \"2.0\"", std::move(given));
  if (method ? !method->getAsString() : !id)
    return invalid(ErrorCode::InvalidRequest, "a message has a \"method\", or the \"id\" of a request that it answers", std::move(given));
  return text;
}

} // namespace

llvm::LogicalResult MessageInput::readDelimitedMessage(std::string &text) {
  if (llvm::failed(delimited.readDelimitedMessage(text)))
    return llvm::failure();
  text = checked(std::move(text));
  return llvm::success();
}

llvm::LogicalResult MessageInput::readStandardMessage(std::string &text) {
  std::optional<uint64_t> length;
  while (true) {
    std::optional<std::string> line = readLine(in);
    if (!line)
      return llvm::failure();
    if (line->empty())
      break;
    if (std::optional<uint64_t> stated = lengthIn(*line))
      length = stated;
  }
  if (!length)
    return llvm::failure(); // where the next message begins is found by its header
  const bool isRead = *length <= largestMessage;
  text.clear();
  char block[1 << 16];
  for (uint64_t rest = *length; rest > 0;) {
    size_t got = std::fread(block, 1, static_cast<size_t>(std::min<uint64_t>(rest, sizeof block)), in);
    if (got == 0)
      return llvm::failure();
    if (isRead)
      text.append(block, got);
    rest -= got;
  }
  text = isRead ? checked(std::move(text))
                : invalid(ErrorCode::InvalidRequest,
                          "the message has " + std::to_string(*length) + " bytes, at most " + std::to_string(largestMessage) + " are read");
  return llvm::success();
}

} // namespace npar::driver
