// One function for each kind of model.
#include "engine/text/ModelReader.h"

#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/Quoted.h"

namespace npar::engine {
namespace {

Status readBpe(TokenizerJson &json, Fields &fields, bool bytes, PipelineParts &parts) {
  if (const Json &dropout = fields.any("dropout"); !dropout.is_null() && dropout != 0)
    fields.refuse("has a 'dropout', which changes the ids each time: set it to null");
  BpeSettings settings;
  settings.alphabet = bytes ? Alphabet::Bytes : Alphabet::Characters;
  settings.byteFallback = fields.flag("byte_fallback") && !bytes; // every byte has a character, and npar refuses bytes without a token
  settings.fuseUnknown = fields.flag("fuse_unk");
  settings.wholeWords = fields.flag("ignore_merges");
  settings.unknown = fields.text("unk_token");
  settings.prefix = fields.text("continuing_subword_prefix");
  settings.suffix = fields.text("end_of_word_suffix");
  constexpr size_t longest = 64;
  if (settings.prefix.size() > longest || settings.suffix.size() > longest)
    fields.refuse("has a prefix or suffix of more than " + std::to_string(longest) + " bytes");
  if (bytes && (!settings.prefix.empty() || !settings.suffix.empty()))
    fields.refuse("has 'continuing_subword_prefix' or 'end_of_word_suffix', which npar does not know for words of bytes");
  parts.kind = bytes ? "byte-level BPE" : "BPE of characters";
  parts.model = [settings, merges = std::move(json.merges)](VocabularyPointer vocabulary) -> Result<ModelPointer> {
    BpeSettings own = settings;
    TRY(own.merges, listedMerges(*vocabulary, merges, own.prefix));
    return bpeModel(std::move(vocabulary), std::move(own));
  };
  return fields.status();
}

Status readWordPiece(Fields &fields, PipelineParts &parts) {
  WordPieceSettings settings;
  settings.unknown = fields.text("unk_token");
  settings.prefix = fields.text("continuing_subword_prefix");
  settings.longestWord = fields.number("max_input_chars_per_word", settings.longestWord);
  parts.kind = "WordPiece";
  parts.model = [settings](VocabularyPointer vocabulary) { return wordPieceModel(std::move(vocabulary), settings); };
  return fields.status();
}

Status readUnigram(TokenizerJson &json, Fields &fields, PipelineParts &parts) {
  UnigramSettings settings;
  int64_t unknown = fields.number("unk_id", -1);
  settings.byteFallback = fields.flag("byte_fallback");
  if (unknown < -1 || unknown >= static_cast<int64_t>(json.scores.size()))
    fields.refuse("has the 'unk_id' " + std::to_string(unknown) + ", and " + std::to_string(json.scores.size()) + " tokens");
  fields.ignore({"alpha", "nbest_size"}); // the package does not read them
  settings.unknown = static_cast<int32_t>(std::max<int64_t>(unknown, -1));
  settings.scores = std::move(json.scores);
  parts.kind = "unigram";
  parts.model = [settings](VocabularyPointer vocabulary) { return unigramModel(std::move(vocabulary), settings); };
  return fields.status();
}

Status readWordLevel(Fields &fields, PipelineParts &parts) {
  parts.kind = "words";
  parts.model = [unknown = fields.text("unk_token")](VocabularyPointer vocabulary) {
    return wordLevelModel(std::move(vocabulary), unknown);
  };
  return fields.status();
}

/// The kind of a model. Files of the first years do not name it: it is the first one whose fields are there, as in the tokenizers package.
std::string kindOf(const Json &model, const TokenizerJson &json) {
  if (model.contains("type"))
    return typeOf(model);
  if (!json.vocabularyIsMap)
    return json.scores.empty() ? "" : "Unigram";
  if (!json.merges.empty())
    return "BPE";
  bool isWordPiece = model.contains("continuing_subword_prefix") && model.contains("max_input_chars_per_word");
  return isWordPiece ? "WordPiece" : model.contains("unk_token") ? "WordLevel" : "";
}

} // namespace

Status readModel(TokenizerJson &json, bool bytes, PipelineParts &parts) {
  const Json &model = member(json.rest, "model");
  if (!model.is_object())
    return Status::badInput("it has no model");
  std::string type = kindOf(model, json);
  if (type != "BPE" && type != "WordPiece" && type != "Unigram" && type != "WordLevel")
    return Status::badInput("its model " + (type.empty() ? "has no 'type'" : "is " + inQuotes(type)) +
                            ": npar knows 'BPE', 'WordPiece', 'Unigram' and 'WordLevel'");
  if (type == "Unigram" ? json.scores.empty() : !json.vocabularyIsMap)
    return Status::badInput("its model has no vocabulary");
  if (type == "BPE" ? model.contains("merges") : !json.merges.empty())
    return Status::badInput(type == "BPE" ? "its merges are no list" : "its model has merges, and is " + inQuotes(type));
  parts.vocabulary = std::move(json.vocabulary);
  Fields fields(model, "its model");
  fields.ignore({"type"});
  if (type == "BPE")
    return readBpe(json, fields, bytes, parts);
  if (bytes)
    return Status::badInput("its model is " + inQuotes(type) + ", and its last pre-tokenizer 'ByteLevel': npar knows that for 'BPE' only");
  if (type == "WordPiece")
    return readWordPiece(fields, parts);
  return type == "Unigram" ? readUnigram(json, fields, parts) : readWordLevel(fields, parts);
}

} // namespace npar::engine
