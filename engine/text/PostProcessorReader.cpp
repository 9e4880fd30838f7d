// Templates, and the fixed forms of BERT and RoBERTa.
#include "engine/text/PostProcessorReader.h"

#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/Quoted.h"

#include <algorithm>
#include <utility>

namespace npar::engine {
namespace {

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

/// [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]: the parts of one text, or of a pair with "B".
Result<TextForm> readForm(const Json &pieces, const Json &tokens, bool ofPair) {
  TextForm form;
  bool seen[2] = {false, !ofPair};
  for (const Json &piece : pieces) {
    Fields one(piece, "the template of the post-processor");
    const Json &token = one.object("SpecialToken"), &sequence = one.object("Sequence");
    if (token.is_null() == sequence.is_null())
      one.refuse("is not of tokens and texts");
    TRY_STATUS(one.status());
    Fields names(token.is_null() ? sequence : token, "a part of the post-processor's template");
    std::string name = names.text("id");
    auto type = static_cast<int32_t>(std::clamp<int64_t>(names.number("type_id", 0), -1, 1 << 20));
    TRY_STATUS(names.status());
    if (token.is_null()) {
      const int text = ofPair && name == "B";
      if (std::exchange(seen[text], true) || (!text && name != "A"))
        return Status::badInput(std::string("the template of the post-processor is not of tokens around ") +
                                (ofPair ? "the texts 'A' and 'B'" : "one text, 'A'"));
      form.push_back({-1, text, type});
      continue;
    }
    std::vector<int64_t> ids;
    TRY_STATUS(addTemplateToken(tokens, name, ids));
    for (int64_t id : ids)
      form.push_back({id < 0 ? -2 : id, 0, type}); // what is no id is refused later
  }
  return seen[0] && seen[1] ? Result<TextForm>(std::move(form))
                            : Status::badInput("post-processor 'TemplateProcessing' has no text in its template");
}

Status readTemplate(const Json &part, PipelineParts &parts) {
  Fields fields(part, "post-processor 'TemplateProcessing'");
  fields.ignore({"type"});
  const Json &tokens = fields.object("special_tokens"), &single = fields.list("single"), &pair = fields.list("pair");
  TRY_STATUS(fields.status());
  TRY(TextForm one, readForm(single, tokens, /*ofPair=*/false));
  bool after = false;
  for (const TextPart &each : one) {
    parts.types.push_back(each.type);
    if (each.id == -1)
      after = true;
    else
      (after ? parts.after : parts.before).push_back(each.id);
  }
  if (!pair.empty()) {
    TRY(parts.pair, readForm(pair, tokens, /*ofPair=*/true));
  }
  return {};
}

/// ["[CLS]", 101]: the id of a token that BERT's form names.
int64_t idOfPair(Fields &fields, const char *name) {
  const Json &pair = fields.list(name);
  if (pair.size() == 2 && pair[0].is_string() && pair[1].is_number_integer())
    return pair[1].get<int64_t>();
  fields.refuse("has a '" + std::string(name) + "' that is no text and number");
  return -1;
}

/// [CLS] or <s>, the text, [SEP] or </s>.
Status readBertForm(const Json &part, PipelineParts &parts) {
  Fields fields(part, "post-processor " + inQuotes(typeOf(part)));
  fields.ignore({"type"});
  if (typeOf(part) == "RobertaProcessing")
    fields.ignore({"trim_offsets", "add_prefix_space"}); // positions only
  parts.before.push_back(idOfPair(fields, "cls"));
  parts.after.push_back(idOfPair(fields, "sep"));
  const bool isRoberta = typeOf(part) == "RobertaProcessing";
  parts.pairLike(isRoberta ? 2 : 1, isRoberta ? 0 : 1);
  return fields.status();
}

} // namespace

Status readPostProcessor(const Json &component, PipelineParts &parts) {
  for (const Json *part : flattened(component, "processors")) {
    std::string type = typeOf(*part);
    bool first = parts.before.empty() && parts.after.empty() && parts.types.empty();
    if (type == "ByteLevel") // moves positions only
      continue;
    bool isTemplate = type == "TemplateProcessing", isBert = type == "BertProcessing" || type == "RobertaProcessing";
    if (!first || (!isTemplate && !isBert))
      return unknownComponent("post-processor", *part, "'ByteLevel' and one 'TemplateProcessing', 'BertProcessing' or 'RobertaProcessing'");
    TRY_STATUS(isTemplate ? readTemplate(*part, parts) : readBertForm(*part, parts));
  }
  return {};
}

} // namespace npar::engine
