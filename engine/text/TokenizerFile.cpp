// One function for each part of the file.
#include "engine/text/TokenizerFile.h"

#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/MarkedSpaces.h"
#include "engine/text/Quoted.h"

namespace npar::engine {

const char *const gpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

Status readModel(const TokenizerJson &json, BpeParts &parts) {
  const Json &model = member(json.rest, "model");
  if (!model.is_object())
    return Status::badInput("it has no model");
  // Files of the first years do not say the kind.
  bool bpe = typeOf(model) == "BPE" || (!model.contains("type") && json.vocabularyIsMap && !json.merges.empty());
  if (!bpe)
    return Status::badInput("its model is " + (typeOf(model).empty() ? "of no kind that it names" : inQuotes(typeOf(model))) +
                            ": npar knows byte-level 'BPE', and SentencePiece models in a tokenizer.model");
  if (!json.vocabularyIsMap)
    return Status::badInput("its model has no vocabulary");
  if (model.contains("merges"))
    return Status::badInput("its merges are no list");
  Fields fields(model, "its model");
  fields.ignore({"type", "unk_token", "fuse_unk"}); // every byte has a token, or the text is refused
  if (const Json &dropout = fields.any("dropout"); !dropout.is_null() && dropout != 0)
    fields.refuse("has a 'dropout', which changes the ids each time: set it to null");
  for (const char *mark : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (std::string text = fields.text(mark); !text.empty())
      fields.refuse("has the '" + std::string(mark) + "' " + inQuotes(text) + ", which npar does not know");
  parts.alphabet = fields.flag("byte_fallback") ? Alphabet::Characters : Alphabet::Bytes;
  parts.wholeWords = fields.flag("ignore_merges");
  if (parts.wholeWords && parts.alphabet == Alphabet::Characters)
    fields.refuse("has 'ignore_merges' and 'byte_fallback': npar knows no such model");
  return fields.status();
}

Status addPattern(const std::string &text, bool keepsGaps, BpeParts &parts) {
  auto pattern = Pattern::compile(text);
  if (!pattern.ok())
    return pattern.status();
  parts.words.push_back({std::move(*pattern), keepsGaps});
  return {};
}

Status readSplit(const Json &part, BpeParts &parts) {
  Fields fields(part, "pre-tokenizer 'Split'");
  fields.ignore({"type"});
  std::string behavior = fields.text("behavior");
  bool invert = fields.flag("invert");
  Fields pattern(fields.object("pattern"), "the pattern of pre-tokenizer 'Split'");
  std::string expression = pattern.text("Regex"), exact = pattern.text("String");
  for (const Fields *each : {&fields, &pattern})
    if (Status status = each->status(); !status.ok())
      return status;
  if (expression.empty() == exact.empty())
    return Status::badInput("the pattern of pre-tokenizer 'Split' is empty, or both 'Regex' and 'String'");
  // Inverted, the pattern matches the words: these are kept, and the text between them is dropped.
  bool drops = behavior == "Removed" && invert;
  if (behavior != "Isolated" && !drops)
    return Status::badInput("pre-tokenizer 'Split' has the behavior " + inQuotes(behavior) + (invert ? ", inverted" : "") +
                            ": npar knows 'Isolated', and 'Removed' inverted");
  return addPattern(exact.empty() ? expression : patternOfText(exact), !drops, parts);
}

Status readPreTokenizer(const Json &rest, BpeParts &parts) {
  constexpr const char *known = "'ByteLevel', alone or after 'Split' and 'Digits'";
  std::vector<const Json *> list = flattened(member(rest, "pre_tokenizer"), "pretokenizers");
  if (list.empty() || typeOf(*list.back()) != "ByteLevel")
    return unknownComponent("last pre-tokenizer", list.empty() ? Json() : *list.back(), known);
  for (const Json *part : list) {
    std::string type = typeOf(*part);
    Fields fields(*part, "pre-tokenizer " + inQuotes(type));
    fields.ignore({"type", "trim_offsets"});
    Status status;
    if (type == "Split") {
      status = readSplit(*part, parts);
    } else if (type == "Digits") {
      status = addPattern(fields.flag("individual_digits") ? "\\p{N}" : "\\p{N}+", true, parts);
      status = status.ok() ? fields.status() : status;
    } else if (type == "ByteLevel" && part == list.back()) {
      if (fields.flag("add_prefix_space", true))
        parts.words.push_back({});
      if (fields.flag("use_regex", true))
        status = addPattern(gpt2Pattern, true, parts);
      status = status.ok() ? fields.status() : status;
    } else {
      status = unknownComponent(type == "ByteLevel" ? "pre-tokenizer before the last" : "pre-tokenizer", *part, known);
    }
    if (!status.ok())
      return status;
  }
  return {};
}

/// Appends the ids that a template's token stands for.
Status addTemplateToken(const Json &tokens, const std::string &name, std::vector<int64_t> &ids) {
  Fields fields(member(tokens, name.c_str()), "token " + inQuotes(name) + " of the post-processor's 'special_tokens'");
  fields.ignore({"id", "tokens"});
  for (const Json &id : fields.list("ids")) {
    if (!id.is_number_integer())
      return Status::badInput("token " + inQuotes(name) + " of the post-processor has an id that is no whole number");
    ids.push_back(id.get<int64_t>());
  }
  return fields.status();
}

/// [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]: which tokens are put before and after a text.
Status readTemplate(const Json &part, BpeParts &parts) {
  Fields fields(part, "post-processor 'TemplateProcessing'");
  fields.ignore({"type", "pair"});
  const Json &tokens = fields.object("special_tokens");
  bool seen = false;
  for (const Json &piece : fields.list("single")) {
    Fields one(piece, "the template of the post-processor");
    const Json &token = one.object("SpecialToken"), &sequence = one.object("Sequence");
    if (token.is_null() == sequence.is_null() || (!sequence.is_null() && seen))
      one.refuse("is not of tokens around one text");
    Status status = one.status();
    if (status.ok() && !token.is_null()) {
      Fields names(token, "a token of the post-processor's template");
      names.ignore({"type_id"});
      std::string name = names.text("id");
      status = names.status();
      status = status.ok() ? addTemplateToken(tokens, name, seen ? parts.after : parts.before) : status;
    }
    if (!status.ok())
      return status;
    seen |= !sequence.is_null();
  }
  if (!seen)
    fields.refuse("has no text in its template");
  return fields.status();
}

Status readPostProcessor(const Json &rest, BpeParts &parts) {
  for (const Json *part : flattened(member(rest, "post_processor"), "processors")) {
    Status status;
    if (typeOf(*part) == "TemplateProcessing" && parts.before.empty() && parts.after.empty()) {
      status = readTemplate(*part, parts);
    } else if (typeOf(*part) != "ByteLevel") { // which moves offsets only
      status = unknownComponent("post-processor", *part, "'ByteLevel' and one 'TemplateProcessing'");
    }
    if (!status.ok())
      return status;
  }
  return {};
}

Status readDecoder(const Json &rest) {
  for (const Json *part : flattened(member(rest, "decoder"), "decoders"))
    if (typeOf(*part) != "ByteLevel")
      return unknownComponent("decoder", *part, "'ByteLevel'");
  return {};
}

Status readNormalizer(const Json &rest) {
  for (const Json *part : flattened(member(rest, "normalizer"), "normalizers"))
    return unknownComponent("normalizer", *part, "none: it changes the text before it is cut");
  return {};
}

} // namespace

Result<AddedToken> addedTokenOf(const Json &entry, int64_t id) {
  Fields fields(entry, "an added token");
  AddedToken token;
  token.text = fields.text("content");
  token.id = fields.number("id", id);
  token.special = fields.flag("special");
  token.normalized = fields.flag("normalized", !token.special);
  for (const char *setting : {"single_word", "lstrip", "rstrip"})
    if (fields.flag(setting))
      fields.refuse(inQuotes(token.text) + " has '" + setting + "', which npar does not know");
  Status status = fields.status();
  return status.ok() ? Result<AddedToken>(std::move(token)) : status;
}

Result<std::vector<AddedToken>> addedTokensOf(const Json &file) {
  Fields fields(file, "it");
  std::vector<AddedToken> tokens;
  for (const Json &entry : fields.list("added_tokens")) {
    Result<AddedToken> token = addedTokenOf(entry, -1);
    if (!token.ok())
      return token.status();
    tokens.push_back(std::move(*token));
  }
  Status status = fields.mistake();
  return status.ok() ? Result<std::vector<AddedToken>>(std::move(tokens)) : status;
}

Result<BpeParts> partsOfTokenizerJson(TokenizerJson &json) {
  BpeParts parts;
  Fields fields(json.rest, "it");
  fields.ignore({"added_tokens", "model", "normalizer", "pre_tokenizer", "post_processor", "decoder"});
  if (std::string version = fields.text("version"); version != "1.0")
    fields.refuse("has the version " + inQuotes(version) + ": npar reads '1.0'");
  for (const char *setting : {"truncation", "padding"})
    if (!fields.any(setting).is_null())
      fields.refuse("has a '" + std::string(setting) + "', which changes how many tokens a text has: set it to null");
  Result<std::vector<AddedToken>> added = addedTokensOf(json.rest);
  if (!added.ok())
    return added.status();
  parts.added = std::move(*added);
  for (Status status : {fields.status(), readModel(json, parts), readPostProcessor(json.rest, parts)})
    if (!status.ok())
      return status;
  parts.vocabulary = std::move(json.vocabulary);
  parts.merges = std::move(json.merges);
  if (parts.alphabet == Alphabet::Characters) {
    Status status = readMarkedSpaces(json.rest, parts);
    return status.ok() ? Result<BpeParts>(std::move(parts)) : status;
  }
  for (Status status : {readNormalizer(json.rest), readPreTokenizer(json.rest, parts), readDecoder(json.rest)})
    if (!status.ok())
      return status;
  return parts;
}

} // namespace npar::engine
