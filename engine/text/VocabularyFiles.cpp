// Builds what the transformers package builds from the same files.
#include "engine/text/VocabularyFiles.h"

#include "engine/text/CharacterNormalizer.h"
#include "engine/text/CutReader.h"
#include "engine/text/JsonFile.h"
#include "engine/text/NormalForm.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/TokenizerConfig.h"
#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <filesystem>

namespace npar::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char *gpt2End = "<|endoftext|>";
constexpr const char *qwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string inFolder(const std::string &folder, const char *name) { return (fs::path(folder) / name).string(); }

Status refuseOldFile(const std::string &folder) {
  std::error_code unknown;
  std::string path = inFolder(folder, "added_tokens.json");
  if (!fs::exists(path, unknown))
    return {};
  return tokenizerFailure(path,
                          "npar takes added tokens from tokenizer_config.json or tokenizer.json only: save the tokenizer again with a "
                          "newer transformers package");
}

Status unknownClass(const std::string &folder, const std::string &type, const std::string &files, const std::string &known) {
  return tokenizerFailure(inFolder(folder, "tokenizer_config.json"), "its tokenizer_class is " + inQuotes(type) + ": from " + files +
                                                                         ", npar reads " + known + "; save a tokenizer.json");
}

/// Lines of two tokens with a space between them; the first may be "#version: 0.2".
Result<std::vector<std::pair<std::string, std::string>>> readMerges(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> merges;
  for (size_t line = 1, at = 0; at < text.size(); ++line) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view pair = text.substr(at, end - at);
    at = end + 1;
    if (!pair.empty() && pair.back() == '\r')
      pair.remove_suffix(1);
    if (pair.substr(0, 8) == "#version")
      continue;
    size_t space = pair.find(' ');
    bool two =
        space != std::string_view::npos && space > 0 && space + 1 < pair.size() && pair.find(' ', space + 1) == std::string_view::npos;
    if (!two)
      return Status::badInput("line " + std::to_string(line) + " is no pair of tokens: " + inQuotes(pair));
    if (merges.size() == mostTokens)
      return Status::badInput("it has more than " + std::to_string(mostTokens) + " merges");
    merges.emplace_back(pair.substr(0, space), pair.substr(space + 1));
  }
  return merges;
}

bool isAdded(const PipelineParts &parts, const std::string &text) {
  return std::any_of(parts.added.begin(), parts.added.end(), [&](const AddedToken &token) { return token.text == text; });
}

/// Adds special tokens of the class that the files do not name, if the vocabulary has them.
void addSpecial(PipelineParts &parts, const std::vector<AddedToken> &tokens) {
  for (AddedToken token : tokens)
    if (std::optional<int64_t> id = isAdded(parts, token.text) ? std::nullopt : parts.idOf(token.text)) {
      token.id = *id, token.special = true;
      parts.added.push_back(token);
    }
}

/// Adds the special tokens that the files name. transformers gives new ids to those that the vocabulary lacks.
Status addNamed(const std::string &folder, const TokenizerConfig &config, PipelineParts &parts) {
  for (const std::string &name : config.namedSpecial()) {
    AddedToken token;
    token.text = name;
    addSpecial(parts, {token});
    if (!isAdded(parts, name))
      return tokenizerFailure(inFolder(folder, "tokenizer_config.json"), "the special token " + inQuotes(name) +
                                                                             " is neither in the vocabulary nor in 'added_tokens_decoder', "
                                                                             "which would say its id: save a tokenizer.json");
  }
  return {};
}

AddedToken special(const std::optional<std::string> &text, const char *otherwise) {
  AddedToken token;
  token.text = text.value_or(otherwise);
  return token;
}

Status addAround(const std::string &folder, const std::string &name, const char *what, PipelineParts &parts, std::vector<int64_t> &around) {
  std::optional<int64_t> id = parts.idOf(name);
  if (!id)
    return tokenizerFailure(inFolder(folder, "tokenizer_config.json"), std::string("its '") + what + "' is not in the vocabulary");
  around.push_back(*id);
  return {};
}

bool isRoberta(const std::string &type) { return type == "RobertaTokenizer" || type == "BartTokenizer" || type == "LongformerTokenizer"; }

Status addTokens(const std::string &folder, TokenizerConfig &config, PipelineParts &parts) {
  parts.added = std::move(config.added);
  if (isRoberta(config.type)) {
    AddedToken mask = special(config.mask, "<mask>");
    mask.leftStrip = true;
    addSpecial(parts, {special(config.begin, "<s>"), special(config.padding, "<pad>"), special(config.end, "</s>"),
                       special(config.unknown, "<unk>"), mask});
    TRY_STATUS(addNamed(folder, config, parts));
    parts.endOfText = config.end.value_or("</s>");
    TRY_STATUS(addAround(folder, config.classify.value_or("<s>"), "cls_token", parts, parts.before));
    return addAround(folder, config.separator.value_or("</s>"), "sep_token", parts, parts.after);
  }
  if (!config.begin || !config.end || !config.unknown)
    addSpecial(parts, {special({}, gpt2End)});
  TRY_STATUS(addNamed(folder, config, parts));
  parts.endOfText = config.end.value_or(gpt2End);
  return config.addBegin.value_or(false) ? addAround(folder, config.begin.value_or(gpt2End), "bos_token", parts, parts.before) : Status();
}

} // namespace

Result<PipelineParts> partsOfVocabularyAndMerges(const std::string &folder) {
  PipelineParts parts;
  TRY(TokenizerConfig config, readTokenizerConfig(folder));
  TRY_STATUS(completeConfig(folder, config));
  bool isQwen = config.type == "Qwen2Tokenizer";
  if (!config.type.empty() && config.type != "GPT2Tokenizer" && !isQwen && !isRoberta(config.type))
    return unknownClass(folder, config.type, "vocab.json and merges.txt",
                        "'GPT2Tokenizer', 'RobertaTokenizer', 'BartTokenizer', 'LongformerTokenizer' and 'Qwen2Tokenizer'");
  TRY_STATUS(refuseOldFile(folder));
  TRY(TokenizerJson vocabulary, readTokenizerJson(inFolder(folder, "vocab.json"), VocabularyPlace::IsTheFile));
  parts.vocabulary = std::move(vocabulary.vocabulary);

  std::string path = inFolder(folder, "merges.txt");
  TRY(std::string text, readTokenizerFile(path));
  auto merges = readMerges(text);
  if (!merges.ok())
    return tokenizerFailure(path, merges.status().message());
  parts.kind = "byte-level BPE";
  parts.spelling.kind = Spelling::Kind::ByteCharacters;
  parts.model = [merges = std::move(*merges)](VocabularyPointer tokens) -> Result<ModelPointer> {
    BpeSettings settings;
    TRY(settings.merges, listedMerges(*tokens, merges, ""));
    return bpeModel(std::move(tokens), std::move(settings));
  };
  TRY_STATUS(addTokens(folder, config, parts));
  if (isQwen)
    parts.normalizers.push_back(normalFormNormalizer({/*compatible=*/false, /*composes=*/true}));
  if (config.addPrefixSpace)
    parts.cuts.push_back(prefixSpaceRule());
  TRY(auto pattern, Pattern::compile(isQwen ? qwenPattern : gpt2Pattern));
  parts.cuts.push_back(splitRule(std::move(pattern), Behavior::Isolated));
  return parts;
}

Result<PipelineParts> partsOfWordPieceVocabulary(const std::string &folder) {
  PipelineParts parts;
  TRY(TokenizerConfig config, readTokenizerConfig(folder));
  TRY_STATUS(completeConfig(folder, config));
  constexpr const char *known[] = {"", "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"};
  if (std::find(std::begin(known), std::end(known), config.type) == std::end(known))
    return unknownClass(folder, config.type, "vocab.txt",
                        "'BertTokenizer', 'DistilBertTokenizer', 'ElectraTokenizer' and 'MobileBertTokenizer'");
  TRY_STATUS(refuseOldFile(folder));
  std::string path = inFolder(folder, "vocab.txt");
  TRY(std::string text, readTokenizerFile(path));
  if (Utf8Extent extent = utf8Extent(text); extent.end < text.size())
    return tokenizerFailure(path, notUtf8(static_cast<uint8_t>(text[extent.end]), extent.end).message());
  int64_t line = 0;
  for (size_t at = 0; at < text.size(); ++line) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string token = text.substr(at, end - at);
    at = end + 1;
    while (!token.empty() && (token.back() == '\r' || token.back() == ' ' || token.back() == '\t'))
      token.pop_back();
    if (token.empty())
      return tokenizerFailure(path, "line " + std::to_string(line + 1) + " is empty");
    if (line == idLimit)
      return tokenizerFailure(path, "it has more than " + std::to_string(idLimit) + " lines");
    parts.vocabulary.emplace_back(std::move(token), line);
  }
  WordPieceSettings settings;
  settings.unknown = config.unknown.value_or(settings.unknown);
  parts.kind = "WordPiece";
  parts.model = [settings](VocabularyPointer tokens) { return wordPieceModel(std::move(tokens), settings); };
  parts.spelling.kind = Spelling::Kind::WordPiece, parts.spelling.mark = settings.prefix, parts.spelling.cleansUp = true;
  parts.normalizers =
      bertNormalizers({/*cleanText=*/true, config.splitsChinese, config.stripsAccents.value_or(config.lowercase), config.lowercase});
  parts.cuts = {splitRule(setOf(Property::WhiteSpace), Behavior::Removed), splitRule(setOf(Property::Punctuation), Behavior::Isolated)};
  parts.added = std::move(config.added);
  addSpecial(parts, {special(config.padding, "[PAD]"), special(config.unknown, "[UNK]"), special(config.classify, "[CLS]"),
                     special(config.separator, "[SEP]"), special(config.mask, "[MASK]")});
  TRY_STATUS(addNamed(folder, config, parts));
  parts.endOfText = config.separator.value_or("[SEP]");
  TRY_STATUS(addAround(folder, config.classify.value_or("[CLS]"), "cls_token", parts, parts.before));
  TRY_STATUS(addAround(folder, config.separator.value_or("[SEP]"), "sep_token", parts, parts.after));
  return parts;
}

} // namespace npar::engine
