// Decodes UTF-8 byte by byte, since a stream may be cut anywhere.
#include "engine/readable/Printable.h"

#include <cstdint>
#include <cstdio>

namespace npar::readable {
namespace {

/// Bytes of the character that begins so; 0: none does.
size_t lengthOf(unsigned char lead) {
  return lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

uint32_t codeOf(std::string_view character) {
  auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(character[i])); };
  uint32_t code = character.size() == 1 ? byte(0) : byte(0) & (0xffu >> (character.size() + 1));
  for (size_t i = 1; i < character.size(); ++i)
    code = code << 6 | (byte(i) & 0x3f);
  return code;
}

bool isHarmful(uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

void append(std::string &out, const char *format, unsigned value) {
  char text[16];
  std::snprintf(text, sizeof(text), format, value);
  out += text;
}

void appendCharacter(std::string &out, std::string_view character) {
  if (uint32_t code = codeOf(character); isHarmful(code))
    append(out, "\\u%04x", code);
  else
    out += character;
}

} // namespace

void Escaper::take(unsigned char byte, std::string &out) {
  if (pending == "\r") {
    pending.clear();
    if (byte == '\n') {
      out += "\r\n";
      return;
    }
    appendCharacter(out, "\r");
  }
  if (!pending.empty() && (byte & 0xc0) == 0x80) {
    pending += static_cast<char>(byte);
    if (pending.size() == lengthOf(static_cast<unsigned char>(pending[0])))
      appendCharacter(out, pending), pending.clear();
    return;
  }
  finish(out);
  char one = static_cast<char>(byte);
  if (size_t length = lengthOf(byte); length == 0)
    append(out, "\\x%02x", byte);
  else if (length > 1 || byte == '\r')
    pending = one;
  else
    appendCharacter(out, {&one, 1});
}

void Escaper::add(std::string_view text, std::string &out) {
  out.reserve(out.size() + text.size());
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (pending.empty() && end < text.size() && ((text[end] >= 0x20 && text[end] < 0x7f) || text[end] == '\n'))
      ++end;
    out.append(text, at, end - at);
    at = end;
    if (at < text.size())
      take(static_cast<unsigned char>(text[at++]), out);
  }
}

void Escaper::finish(std::string &out) {
  for (char byte : pending)
    append(out, "\\x%02x", static_cast<unsigned char>(byte));
  pending.clear();
}

std::string printable(std::string_view text) {
  Escaper escaper;
  std::string out;
  escaper.add(text, out);
  escaper.finish(out);
  return out;
}

std::string printableName(std::string_view name) {
  std::string out;
  for (char one : printable(name))
    if (one == '\n' || one == '\r' || one == '\t')
      append(out, "\\u%04x", static_cast<unsigned char>(one));
    else
      out += one;
  return out;
}

} // namespace npar::readable
