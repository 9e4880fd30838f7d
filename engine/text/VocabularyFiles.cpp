// Builds what the transformers package builds from the same files.
#include "engine/text/VocabularyFiles.h"

#include "engine/files/InsideFolder.h"
#include "engine/text/CharacterNormalizer.h"
#include "engine/text/CutReader.h"
#include "engine/text/JsonFile.h"
#include "engine/text/NormalForm.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/SpecialTokens.h"
#include "engine/text/TokenizerClass.h"
#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

namespace npar::engine {
namespace {

using Role = TokenizerConfig::Role;

constexpr const char *gpt2End = "<|endoftext|>";
constexpr ClassTokens gpt2Tokens = {gpt2End, gpt2End, gpt2End};
constexpr ClassTokens qwenTokens = {nullptr, gpt2End, gpt2End, nullptr, gpt2End};
constexpr ClassTokens robertaTokens = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr ClassTokens bertTokens = {nullptr, nullptr, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr const char *qwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string inFolder(const std::string &folder, const char *name) { return files::joined(folder, name); }

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

/// Puts a special token around every text. The files may name none, with null.
Status addAround(const std::string &folder, const TokenizerConfig &config, Role role, const char *name, PipelineParts &parts,
                 std::vector<int64_t> &around) {
  std::optional<int64_t> id = parts.idOf(config.text(role, ""));
  if (!id)
    return tokenizerFailure(inFolder(folder, "tokenizer_config.json"), std::string("its '") + name + "' is null, and the class needs one");
  around.push_back(*id);
  return {};
}

Status addAround(const std::string &folder, const TokenizerConfig &config, PipelineParts &parts) {
  TRY_STATUS(addAround(folder, config, Role::Classify, "cls_token", parts, parts.before));
  return addAround(folder, config, Role::Separator, "sep_token", parts, parts.after);
}

bool isRoberta(const std::string &type) { return type == "RobertaTokenizer" || type == "BartTokenizer" || type == "LongformerTokenizer"; }

/// Qwen2's class adds its special tokens once more, and without what the files say about them.
void makePlain(const TokenizerConfig &config, PipelineParts &parts) {
  std::set<std::string> names;
  for (const std::optional<AddedToken> &token : config.special)
    names.insert(token ? token->text : "");
  for (const std::vector<AddedToken> *tokens : {&config.modelSpecial, &config.furtherSpecial})
    for (const AddedToken &token : *tokens)
      names.insert(token.text);
  for (AddedToken &token : parts.added)
    if (names.count(token.text))
      token = {token.text, token.id, /*special=*/true, false, false, false, false};
}

/// The special tokens of a folder with a vocab.json, and those around every text.
Status addSpecial(const std::string &folder, TokenizerConfig &config, PipelineParts &parts) {
  bool isQwen = config.type == "Qwen2Tokenizer";
  completeSpecial(isQwen ? qwenTokens : isRoberta(config.type) ? robertaTokens : gpt2Tokens, config);
  if (Status status = addSpecialTokens(config, parts); !status.ok())
    return tokenizerFailure(inFolder(folder, "vocab.json"), status.message());
  if (isQwen)
    makePlain(config, parts);
  parts.endOfText = config.text(Role::End, gpt2End), parts.padding = config.text(Role::Padding, "");
  if (isRoberta(config.type)) {
    TRY_STATUS(addAround(folder, config, parts));
    parts.pairLike(/*separators=*/2, /*secondType=*/0);
    return {};
  }
  for (auto [wanted, role, around] :
       {std::tuple(config.addBegin.value_or(false), Role::Begin, &parts.before), std::tuple(config.addEnd, Role::End, &parts.after)})
    if (std::optional<int64_t> id = wanted ? parts.idOf(config.text(role, "")) : std::nullopt)
      around->push_back(*id); // transformers adds nothing where the files name no token
  return {};
}

/// The length without white space at the end.
size_t withoutSpaces(std::string_view text) {
  size_t length = 0;
  for (size_t at = 0; at < text.size();)
    if (!setOf(Property::WhiteSpace).contains(*characterAt(text, at)))
      length = at;
  return length;
}

/// The tokens of the lines, which are their ids: of two lines with the same token, the last one counts.
Status readLines(std::string_view text, PipelineParts &parts) {
  std::unordered_map<std::string, size_t> places;
  int64_t line = 0;
  for (size_t at = 0; at < text.size(); ++line) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string token(text.substr(at, end - at));
    at = end + 1;
    token.resize(withoutSpaces(token));
    if (line == idLimit)
      return Status::badInput("it has more than " + std::to_string(idLimit) + " lines");
    if (token.empty()) { // a token that no text has
      parts.emptyTokens = 1;
      continue;
    }
    auto [place, fresh] = places.emplace(token, parts.vocabulary.size());
    if (fresh)
      parts.vocabulary.emplace_back(std::move(token), line);
    else
      parts.vocabulary[place->second].second = line;
  }
  return {};
}

} // namespace

Result<PipelineParts> partsOfVocabularyAndMerges(const std::string &folder) {
  PipelineParts parts;
  TRY(TokenizerConfig config, readTokenizerConfig(folder));
  TRY_STATUS(findClass(folder, config));
  bool isQwen = config.type == "Qwen2Tokenizer";
  if (!config.type.empty() && config.type != "GPT2Tokenizer" && !isQwen && !isRoberta(config.type))
    return unknownClass(folder, config.type, "vocab.json and merges.txt",
                        "'GPT2Tokenizer', 'RobertaTokenizer', 'BartTokenizer', 'LongformerTokenizer' and 'Qwen2Tokenizer'");
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
  TRY_STATUS(addSpecial(folder, config, parts));
  if (isQwen)
    parts.normalizers.push_back(normalFormNormalizer({/*compatible=*/false, /*composes=*/true}));
  TRY(auto pattern, Pattern::compile(isQwen ? qwenPattern : gpt2Pattern));
  parts.cuts.push_back(splitRule(std::move(pattern), Behavior::Isolated));
  if (config.addPrefixSpace) // in Qwen2's class, before every word
    parts.cuts.insert(isQwen ? parts.cuts.end() : parts.cuts.begin(), prefixSpaceRule());
  return parts;
}

Result<PipelineParts> partsOfWordPieceVocabulary(const std::string &folder) {
  PipelineParts parts;
  TRY(TokenizerConfig config, readTokenizerConfig(folder));
  TRY_STATUS(findClass(folder, config));
  constexpr const char *known[] = {"", "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"};
  if (std::find(std::begin(known), std::end(known), config.type) == std::end(known))
    return unknownClass(folder, config.type, "vocab.txt",
                        "'BertTokenizer', 'DistilBertTokenizer', 'ElectraTokenizer' and 'MobileBertTokenizer'");
  std::string path = inFolder(folder, "vocab.txt");
  TRY(std::string text, readTokenizerFile(path));
  if (Utf8Extent extent = utf8Extent(text); extent.end < text.size())
    return tokenizerFailure(path, notUtf8(static_cast<uint8_t>(text[extent.end]), extent.end).message());
  if (Status status = readLines(text, parts); !status.ok())
    return tokenizerFailure(path, status.message());
  completeSpecial(bertTokens, config);
  if (Status status = addSpecialTokens(config, parts); !status.ok())
    return tokenizerFailure(path, status.message());
  WordPieceSettings settings;
  settings.unknown = config.text(Role::Unknown, settings.unknown);
  parts.kind = "WordPiece";
  parts.model = [settings](VocabularyPointer tokens) { return wordPieceModel(std::move(tokens), settings); };
  parts.spelling.kind = Spelling::Kind::WordPiece, parts.spelling.mark = settings.prefix, parts.spelling.cleansUp = true;
  parts.normalizers =
      bertNormalizers({/*cleanText=*/true, config.splitsChinese, config.stripsAccents.value_or(config.lowercase), config.lowercase});
  parts.cuts = {splitRule(setOf(Property::WhiteSpace), Behavior::Removed), splitRule(setOf(Property::Punctuation), Behavior::Isolated)};
  parts.endOfText = config.text(Role::Separator, "[SEP]");
  parts.padding = config.text(Role::Padding, "");
  TRY_STATUS(addAround(folder, config, parts));
  parts.pairLike(/*separators=*/1, /*secondType=*/1);
  return parts;
}

} // namespace npar::engine
