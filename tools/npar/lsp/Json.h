// Reads members of messages that may lack them, and writes the protocol's positions.
#pragma once

#include "tools/lib/lsp/Text.h"

#include <llvm/Support/JSON.h>
#include <string>

namespace npar::driver {

namespace json = llvm::json;

/// Follows names of members, such as `textDocument`, `uri`; null if one is missing.
template <typename... Names> const json::Value *member(const json::Value &value, llvm::StringRef name, Names... further) {
  const json::Object *object = value.getAsObject();
  const json::Value *found = object ? object->get(name) : nullptr;
  if constexpr (sizeof...(further) == 0)
    return found;
  else
    return found ? member(*found, further...) : nullptr;
}

/// Thrown when a message lacks a member; the sender gets it as an error of the protocol.
struct InvalidMessage {
  std::string what;
};

template <typename... Names> std::string stringAt(const json::Value &value, Names... names) {
  const json::Value *found = member(value, names...);
  std::optional<llvm::StringRef> text = found ? found->getAsString() : std::nullopt;
  if (!text)
    throw InvalidMessage{"a text is missing"};
  return text->str();
}

inline lsp::Position positionOf(const json::Value *value) {
  auto number = [&](const char *name) {
    const json::Value *found = value ? member(*value, name) : nullptr;
    std::optional<int64_t> integer = found ? found->getAsInteger() : std::nullopt;
    if (!integer || *integer < 0)
      throw InvalidMessage{"a position is missing"};
    return static_cast<uint32_t>(std::min<int64_t>(*integer, UINT32_MAX));
  };
  return {number("line"), number("character")};
}

inline json::Value toJson(lsp::Position position) { return json::Object{{"line", position.line}, {"character", position.character}}; }

inline json::Value toJson(const lsp::Text &text, lsp::ByteRange range, lsp::Encoding encoding) {
  return json::Object{{"start", toJson(text.position(range.begin, encoding))}, {"end", toJson(text.position(range.end, encoding))}};
}

/// Texts may hold bytes that are not UTF-8, which JSON cannot.
inline json::Value toJson(const std::string &text) { return json::fixUTF8(text); }

} // namespace npar::driver
