// Other normalizers, pre-tokenizers and decoders, and other marks, are refused.
#include "engine/text/MarkedSpaces.h"

#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/Quoted.h"
#include "engine/text/SpaceMark.h"

namespace npar::engine {
namespace {

const std::string mark(spaceMark);

/// {"type": "Replace", "pattern": {"String": FROM}, "content": TO}
Status readReplace(const Json &part, const std::string &what, const std::string &from, const std::string &to) {
  Fields fields(part, what + " 'Replace'");
  fields.ignore({"type"});
  Fields pattern(fields.object("pattern"), "the pattern of " + what + " 'Replace'");
  if (pattern.text("String") != from || fields.text("content") != to)
    fields.refuse("replaces something else than " + inQuotes(from) + " by " + inQuotes(to));
  Status status = pattern.status();
  return status.ok() ? fields.status() : status;
}

/// [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", ...}], or the second alone.
Status readNormalizers(const std::vector<const Json *> &list, BpeParts &parts) {
  size_t next = 0;
  if (typeOf(*list[next]) == "Prepend") {
    Fields fields(*list[next++], "normalizer 'Prepend'");
    fields.ignore({"type"});
    if (fields.text("prepend") != mark)
      fields.refuse("puts something else than " + inQuotes(mark) + " before a text");
    if (Status status = fields.status(); !status.ok())
      return status;
    parts.words.push_back({nullptr, true, CutRule::Space::Always});
  }
  if (next + 1 != list.size() || typeOf(*list[next]) != "Replace")
    return unknownComponent("last normalizer", *list.back(), "'Replace', alone or after 'Prepend'");
  return readReplace(*list[next], "normalizer", " ", mark);
}

/// {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": false}
Status readMetaspace(const Json &part, BpeParts &parts) {
  if (typeOf(part) != "Metaspace")
    return unknownComponent("pre-tokenizer", part, "'Metaspace', or none after the normalizer 'Replace'");
  Fields fields(part, "pre-tokenizer 'Metaspace'");
  fields.ignore({"type"});
  std::string scheme = fields.text("prepend_scheme");
  if (fields.text("replacement") != mark)
    fields.refuse("writes a space as something else than " + inQuotes(mark));
  if (fields.flag("split", true))
    fields.refuse("has 'split', which npar does not know");
  if (scheme != "first" && scheme != "always" && scheme != "never")
    fields.refuse("has the prepend_scheme " + inQuotes(scheme) + ": npar knows 'first', 'always' and 'never'");
  if (scheme != "never")
    parts.words.push_back({nullptr, true, scheme == "first" ? CutRule::Space::FirstNoMark : CutRule::Space::NoMark});
  return fields.status();
}

/// Replace, ByteFallback, Fuse and, where a text gets a space before it, Strip.
Status readDecoders(const std::vector<const Json *> &list, BpeParts &parts) {
  const char *const kinds[] = {"Replace", "ByteFallback", "Fuse", "Strip"};
  for (size_t i = 0; i < std::max<size_t>(list.size(), 3); ++i)
    if (i >= list.size() || i >= std::size(kinds) || typeOf(*list[i]) != kinds[i])
      return unknownComponent("decoder " + std::to_string(i) + " (from 0)", i < list.size() ? *list[i] : Json(),
                              "'Replace', 'ByteFallback', 'Fuse' and 'Strip', in this order");
  if (Status status = readReplace(*list[0], "decoder", mark, " "); !status.ok() || list.size() == 3)
    return status;
  Fields strip(*list[3], "decoder 'Strip'");
  strip.ignore({"type"});
  if (strip.text("content") != " " || strip.number("start", 0) != 1 || strip.number("stop", 0) != 0)
    strip.refuse("takes something else away than one space before a text");
  parts.dropsFirstSpace = true;
  return strip.status();
}

} // namespace

Status readMarkedSpaces(const Json &file, BpeParts &parts) {
  for (const AddedToken &token : parts.added)
    if (token.normalized)
      return Status::badInput("an added token " + inQuotes(token.text) +
                              " is 'normalized', which npar knows of byte-level tokenizers only");
  std::vector<const Json *> normalizers = flattened(member(file, "normalizer"), "normalizers");
  const Json &preTokenizer = member(file, "pre_tokenizer");
  if (!normalizers.empty() && !preTokenizer.is_null())
    return unknownComponent("pre-tokenizer", preTokenizer, "none after a normalizer");
  for (Status status : {normalizers.empty() ? readMetaspace(preTokenizer, parts) : readNormalizers(normalizers, parts),
                        readDecoders(flattened(member(file, "decoder"), "decoders"), parts)})
    if (!status.ok())
      return status;
  for (const auto &[token, id] : parts.vocabulary)
    if (hasInnerMark(token))
      return {}; // a merge may join what a space parts: the text is one word
  auto pattern = Pattern::compile("[ " + mark + "]*[^ " + mark + "]+|[ " + mark + "]+");
  if (!pattern.ok())
    return pattern.status();
  parts.words.push_back({std::move(*pattern), true});
  return {};
}

} // namespace npar::engine
