// Any two tokens that together are a token may merge, the lowest rank first.
#include "engine/text/Tiktoken.h"

#include "engine/text/Base64.h"
#include "engine/text/ByteCharacters.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"

#include <algorithm>

namespace npar::engine {
namespace {

constexpr const char *llama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Line {
  std::optional<std::string> token;
  std::string_view rank;
};

Line lineOf(std::string_view line) {
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0)
    return {};
  Line read{bytesOfBase64(line.substr(0, space)), line.substr(space + 1)};
  bool number = !read.rank.empty() && read.rank.size() <= 9 && read.rank.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number)
    read.token = std::nullopt;
  return read;
}

/// The names of Llama 3's special tokens, which have the ids after the ranks.
std::vector<std::string> llama3Special() {
  auto reserved = [](int number) { return "<|reserved_special_token_" + std::to_string(number) + "|>"; };
  std::vector<std::string> names = {"<|begin_of_text|>", "<|end_of_text|>",     reserved(0),         reserved(1), reserved(2),
                                    reserved(3),         "<|start_header_id|>", "<|end_header_id|>", reserved(4), "<|eot_id|>"};
  for (int number = 5; names.size() < 256; ++number)
    names.push_back(reserved(number));
  return names;
}

Status readLines(std::string_view bytes, TokenList &vocabulary) {
  for (size_t line = 1, at = 0; at < bytes.size(); ++line) {
    size_t end = std::min(bytes.find('\n', at), bytes.size());
    Line read = lineOf(bytes.substr(at, end - at));
    at = end + 1;
    std::string where = "line " + std::to_string(line);
    if (!read.token || read.token->empty())
      return Status::badInput(where + " is no token in base64 with its rank");
    if (read.rank != std::to_string(vocabulary.size()))
      return Status::badInput(where + " has the rank " + std::string(read.rank) + ", and not " + std::to_string(vocabulary.size()));
    if (vocabulary.size() == mostTokens)
      return Status::badInput("it has more than " + std::to_string(mostTokens) + " tokens");
    std::string spelled;
    for (char byte : *read.token)
      spelled += characterOfByte(static_cast<uint8_t>(byte));
    vocabulary.emplace_back(std::move(spelled), vocabulary.size());
  }
  return {};
}

Result<ModelPointer> modelOf(VocabularyPointer vocabulary) {
  BpeSettings settings;
  settings.wholeWords = true;
  std::vector<std::pair<int32_t, int32_t>> ranks;
  for (size_t id = 0; id < vocabulary->size(); ++id)
    ranks.emplace_back(static_cast<int32_t>(id), static_cast<int32_t>(id));
  TRY(settings.merges, mergesInto(*vocabulary, ranks));
  return bpeModel(std::move(vocabulary), std::move(settings));
}

} // namespace

bool isTiktoken(std::string_view bytes) {
  constexpr size_t longestLine = 4096;
  std::string_view begin = bytes.substr(0, longestLine);
  return lineOf(begin.substr(0, begin.find('\n'))).token.has_value();
}

Result<PipelineParts> partsOfTiktoken(std::string_view bytes, const TokenizerConfig &config) {
  constexpr const char *known[] = {"", "LlamaTokenizer", "PreTrainedTokenizer", "TokenizersBackend"};
  if (std::find(std::begin(known), std::end(known), config.type) == std::end(known))
    return Status::badInput("the tokenizer_class of tokenizer_config.json is " + inQuotes(config.type) +
                            ": npar reads tiktoken's text as Llama 3's only");
  PipelineParts parts;
  TRY_STATUS(readLines(bytes, parts.vocabulary));
  int64_t next = static_cast<int64_t>(parts.vocabulary.size());
  parts.added = config.added;
  if (parts.added.empty())
    for (const std::string &name : llama3Special())
      parts.added.push_back({name, next++, /*special=*/true, false, false, false, false});
  std::string begin = config.text(TokenizerConfig::Role::Begin, "<|begin_of_text|>");
  for (const AddedToken &token : parts.added)
    if (token.text == begin && config.addBegin.value_or(true))
      parts.before.push_back(token.id);
  parts.endOfText = config.text(TokenizerConfig::Role::End, "<|end_of_text|>");
  parts.kind = "byte-level BPE";
  parts.spelling.kind = Spelling::Kind::ByteCharacters;
  parts.model = modelOf;
  TRY(auto pattern, Pattern::compile(llama3Pattern));
  parts.cuts.push_back(splitRule(std::move(pattern), Behavior::Isolated));
  return parts;
}

} // namespace npar::engine
