// Reads the parts in the order in which they depend on each other.
#include "engine/text/TokenizerFile.h"

#include "engine/text/Component.h"
#include "engine/text/CutReader.h"
#include "engine/text/DecoderReader.h"
#include "engine/text/Fields.h"
#include "engine/text/ModelReader.h"
#include "engine/text/NormalizerReader.h"
#include "engine/text/PostProcessorReader.h"
#include "engine/text/Quoted.h"
#include "engine/text/SpecialTokens.h"

#include <algorithm>

namespace npar::engine {
namespace {

/// Padding to the longest text of a batch changes no text that is encoded alone.
bool changesNothing(const Json &padding) {
  return padding.is_null() || (member(padding, "strategy") == "BatchLongest" && member(padding, "pad_to_multiple_of").is_null());
}

Result<std::vector<Addition>> addedTokensOf(const Json &file) {
  Fields fields(file, "it");
  std::vector<Addition> tokens;
  for (const Json &entry : fields.list("added_tokens")) {
    TRY(AddedToken token, addedTokenOf(entry, -1));
    tokens.push_back({std::move(token), /*stated=*/true, true, true});
  }
  TRY_STATUS(fields.mistake());
  return tokens;
}

/// The tokenizers package takes a text for the rest of one if the normalizer has removed its beginning.
bool hidesTheBeginning(const CutRule &rule, const Json &normalizer) {
  std::vector<const Json *> parts = flattened(normalizer, "normalizers");
  auto strips = [](const Json *part) { return typeOf(*part) == "Strip" && member(*part, "strip_left") != false; };
  return rule.kind == CutRule::Kind::Mark && rule.prepend == CutRule::Prepend::First && std::any_of(parts.begin(), parts.end(), strips);
}

/// Gemma's pre-tokenizer looks for spaces that its normalizer has replaced: such a rule would only keep the text from being cut early.
bool findsNothing(const CutRule &rule, const Json &normalizer) {
  std::vector<const Json *> parts = flattened(normalizer, "normalizers");
  if (parts.empty() || rule.kind != CutRule::Kind::Split || rule.delimiter.text.empty() || typeOf(*parts.back()) != "Replace")
    return false;
  const Json &content = member(*parts.back(), "content");
  return member(member(*parts.back(), "pattern"), "String") == rule.delimiter.text && content.is_string() &&
         content.get<std::string>().find(rule.delimiter.text) == std::string::npos;
}

} // namespace

Result<AddedToken> addedTokenOf(const Json &entry, int64_t id) {
  Fields fields(entry, "an added token");
  AddedToken token;
  token.text = fields.text("content");
  token.id = fields.number("id", id);
  token.special = fields.flag("special");
  token.normalized = fields.flag("normalized", !token.special);
  token.singleWord = fields.flag("single_word");
  token.leftStrip = fields.flag("lstrip");
  token.rightStrip = fields.flag("rstrip");
  TRY_STATUS(fields.status());
  return token;
}

/// Refuses a truncation or a padding that would change the tokens of a text.
static void checkLength(const Json &stated, const std::string &name, StatedLength length, Fields &fields) {
  const Json &side = member(stated, "direction");
  if (length == StatedLength::Ignored && !side.is_null() && side != "Right")
    fields.refuse("has a '" + name + "' on the left: npar cuts and fills up texts on the right");
  if (length == StatedLength::Refused && !stated.is_null() && !(name == "padding" && changesNothing(stated)))
    fields.refuse("has a '" + name + "', which changes how many tokens a text has: set it to null");
}

Result<PipelineParts> partsOfTokenizerJson(TokenizerJson &json, StatedLength length) {
  PipelineParts parts;
  Fields fields(json.rest, "it");
  fields.ignore({"added_tokens", "model", "normalizer", "pre_tokenizer", "post_processor", "decoder"});
  if (std::string version = fields.text("version"); version != "1.0" && json.rest.contains("version"))
    fields.refuse("has the version " + inQuotes(version) + ": npar reads '1.0'");
  checkLength(fields.any("truncation"), "truncation", length, fields);
  checkLength(fields.any("padding"), "padding", length, fields);
  TRY_STATUS(fields.mistake());
  TRY(std::vector<Addition> added, addedTokensOf(json.rest));
  TRY_STATUS(fields.status());
  const Json &normalizer = member(json.rest, "normalizer");
  TRY(Cuts cuts, readCuts(member(json.rest, "pre_tokenizer")));
  TRY_STATUS(readModel(json, cuts.bytes, parts));
  TRY_STATUS(addTokens(added, "it", parts));
  TRY(parts.normalizers, readNormalizers(normalizer));
  for (CutRule &rule : cuts.rules) {
    if (hidesTheBeginning(rule, normalizer))
      return Status::badInput(
          "its pre-tokenizer 'Metaspace' has the prepend_scheme 'first' after a normalizer 'Strip', which hides from the "
          "tokenizers package where a text begins: npar does not do that");
    if (!findsNothing(rule, normalizer))
      parts.cuts.push_back(std::move(rule));
  }
  TRY_STATUS(readPostProcessor(member(json.rest, "post_processor"), parts));
  TRY(parts.spelling, readDecoder(member(json.rest, "decoder"), cuts.bytes));
  return parts;
}

} // namespace npar::engine
