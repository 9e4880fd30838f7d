// Templates, and the fixed forms of BERT and RoBERTa.
#include "engine/text/PostProcessorReader.h"

#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/Quoted.h"

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

/// [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]: which tokens are put before and after a text.
Status readTemplate(const Json &part, PipelineParts &parts) {
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
  return fields.status();
}

} // namespace

Status readPostProcessor(const Json &component, PipelineParts &parts) {
  for (const Json *part : flattened(component, "processors")) {
    std::string type = typeOf(*part);
    bool first = parts.before.empty() && parts.after.empty();
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
