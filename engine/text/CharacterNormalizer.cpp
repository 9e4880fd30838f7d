// A table holds the results for ASCII; the rule computes all others.
#include "engine/text/CharacterNormalizer.h"

#include "engine/text/ByteCharacters.h"
#include "engine/text/NormalForm.h"
#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

#include <array>

namespace npar::engine {
namespace {

class CharacterNormalizer : public Normalizer {
public:
  explicit CharacterNormalizer(CharacterRule given) : rule(std::move(given)) {
    for (char32_t c = 0; c < ascii.size(); ++c)
      rule(c, ascii[c]);
  }
  Result<size_t> apply(std::string_view text, State &, bool, std::string &out) const override {
    for (size_t at = 0; at < text.size();) {
      uint8_t byte = static_cast<uint8_t>(text[at]);
      if (byte < ascii.size())
        out += ascii[byte], ++at;
      else
        rule(*characterAt(text, at), out);
    }
    return text.size();
  }

private:
  CharacterRule rule;
  std::array<std::string, 128> ascii;
};

bool isChinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> blocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
                                                      {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  for (auto [first, last] : blocks)
    if (c >= first && c <= last)
      return true;
  return false;
}

void appendLowercase(char32_t c, std::string &out) {
  for (char32_t each : lowercase(c))
    appendUtf8(each, out);
}

/// Appends the character unless it is to be removed; white space as a space. Some white space is a control character and removed.
void appendClean(char32_t c, std::string &out) {
  bool kept = c == '\t' || c == '\n' || c == '\r' || (c != 0 && c != 0xfffd && !setOf(Property::Other).contains(c));
  if (!kept)
    return;
  if (c < ' ' || setOf(Property::WhiteSpace).contains(c))
    out += ' ';
  else
    appendUtf8(c, out);
}

bool isControlOfNmt(char32_t c) { return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f; }

bool isSpaceOfNmt(char32_t c) {
  return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
         c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

} // namespace

std::shared_ptr<const Normalizer> characterNormalizer(CharacterRule rule) { return std::make_shared<CharacterNormalizer>(std::move(rule)); }

std::shared_ptr<const Normalizer> lowercaseNormalizer() { return characterNormalizer(appendLowercase); }

std::shared_ptr<const Normalizer> stripAccentsNormalizer() {
  return characterNormalizer([](char32_t c, std::string &out) {
    if (!setOf(Property::CombiningMark).contains(c))
      appendUtf8(c, out);
  });
}

std::shared_ptr<const Normalizer> nmtNormalizer() {
  return characterNormalizer([](char32_t c, std::string &out) {
    if (isSpaceOfNmt(c))
      out += ' ';
    else if (!isControlOfNmt(c))
      appendUtf8(c, out);
  });
}

std::shared_ptr<const Normalizer> byteLevelNormalizer() {
  return characterNormalizer([](char32_t c, std::string &out) {
    for (char byte : utf8Of(c))
      out += characterOfByte(static_cast<uint8_t>(byte));
  });
}

Normalizers bertNormalizers(const BertSettings &settings) {
  Normalizers parts;
  if (settings.cleanText || settings.handleChineseCharacters)
    parts.push_back(characterNormalizer([settings](char32_t c, std::string &out) {
      bool spaced = settings.handleChineseCharacters && isChinese(c);
      out += spaced ? " " : "";
      settings.cleanText ? appendClean(c, out) : appendUtf8(c, out);
      out += spaced ? " " : "";
    }));
  if (settings.stripAccents)
    parts.push_back(normalFormNormalizer({/*compatible=*/false, /*composes=*/false}));
  if (settings.stripAccents || settings.lowercase)
    parts.push_back(characterNormalizer([settings](char32_t c, std::string &out) {
      if (settings.stripAccents && setOf(Property::NonspacingMark).contains(c))
        return;
      settings.lowercase ? appendLowercase(c, out) : appendUtf8(c, out);
    }));
  return parts;
}

} // namespace npar::engine
