// One function for each kind that has settings.
#include "engine/text/NormalizerReader.h"

#include "engine/text/Base64.h"
#include "engine/text/CharacterNormalizer.h"
#include "engine/text/CharsMap.h"
#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/NormalForm.h"
#include "engine/text/Quoted.h"
#include "engine/text/TextNormalizer.h"

namespace npar::engine {
namespace {

using One = Result<std::shared_ptr<const Normalizer>>;

constexpr size_t longestContent = 64;

/// A text that is put into texts.
std::string readContent(Fields &fields, const char *name) {
  std::string text = fields.text(name);
  if (text.size() > longestContent)
    fields.refuse("has a '" + std::string(name) + "' of " + std::to_string(text.size()) + " bytes, more than " +
                  std::to_string(longestContent));
  return text.substr(0, longestContent);
}

One readReplace(Fields &fields) {
  std::string by = readContent(fields, "content");
  TRY(FilePattern pattern, readFilePattern(fields.object("pattern"), "normalizer 'Replace'"));
  if (pattern.regex.empty())
    return replaceNormalizer(pattern.text, by);
  TRY(auto compiled, Pattern::compile(pattern.regex));
  return replaceNormalizer(compiled, by);
}

One readPrecompiled(Fields &fields) {
  std::optional<std::string> bytes = bytesOfBase64(fields.text("precompiled_charsmap"));
  if (!bytes)
    return Status::badInput("the 'precompiled_charsmap' of its normalizer is no base64");
  TRY(auto map, CharsMap::read(*bytes));
  return precompiledNormalizer(map);
}

Normalizers readBert(Fields &fields) {
  BertSettings settings;
  settings.cleanText = fields.flag("clean_text", true);
  settings.handleChineseCharacters = fields.flag("handle_chinese_chars", true);
  settings.lowercase = fields.flag("lowercase", true);
  settings.stripAccents = fields.flag("strip_accents", settings.lowercase);
  return bertNormalizers(settings);
}

One readOne(const std::string &type, const Json &part, Fields &fields) {
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD")
    return normalFormNormalizer({/*compatible=*/type[2] == 'K', /*composes=*/type.back() == 'C'});
  if (type == "Lowercase")
    return lowercaseNormalizer();
  if (type == "StripAccents")
    return stripAccentsNormalizer();
  if (type == "Nmt")
    return nmtNormalizer();
  if (type == "ByteLevel")
    return byteLevelNormalizer();
  if (type == "Strip") {
    bool left = fields.flag("strip_left"), right = fields.flag("strip_right");
    return stripNormalizer(left, right);
  }
  if (type == "Prepend")
    return prependNormalizer(readContent(fields, "prepend"));
  if (type == "Replace")
    return readReplace(fields);
  if (type == "Precompiled")
    return readPrecompiled(fields);
  return unknownComponent("normalizer", part,
                          "'NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase', 'StripAccents', 'Strip', 'Prepend', 'Replace', 'Nmt', 'ByteLevel', "
                          "'BertNormalizer', 'Precompiled' and 'Sequence'");
}

} // namespace

Result<FilePattern> readFilePattern(const Json &json, const std::string &what) {
  Fields fields(json, "the pattern of " + what);
  FilePattern pattern{fields.text("Regex"), fields.text("String")};
  TRY_STATUS(fields.status());
  if (pattern.regex.empty() == pattern.text.empty())
    return Status::badInput("the pattern of " + what + " is empty, or both 'Regex' and 'String'");
  return pattern;
}

Result<Normalizers> readNormalizers(const Json &component) {
  Normalizers normalizers;
  for (const Json *part : flattened(component, "normalizers")) {
    std::string type = typeOf(*part);
    Fields fields(*part, "normalizer " + inQuotes(type));
    fields.ignore({"type"});
    if (type == "BertNormalizer") {
      for (auto &each : readBert(fields))
        normalizers.push_back(std::move(each));
    } else {
      TRY(auto normalizer, readOne(type, *part, fields));
      normalizers.push_back(std::move(normalizer));
    }
    TRY_STATUS(fields.status());
  }
  return normalizers;
}

} // namespace npar::engine
