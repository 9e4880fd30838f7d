// The transformers package reads these two for GPT-2 where no tokenizer.json is there.
#include "engine/text/FolderFiles.h"

#include "engine/text/Fields.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/TokenizerFile.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <filesystem>

namespace npar::engine {
namespace {

namespace fs = std::filesystem;

std::string inFolder(const std::string &folder, const char *name) { return (fs::path(folder) / name).string(); }

/// A token's text: "<s>", or the content of an object.
Result<std::optional<std::string>> tokenText(const Json &value, const std::string &what) {
  if (value.is_null())
    return std::optional<std::string>();
  const Json *text = value.is_object() && value.contains("content") ? &value["content"] : &value;
  if (!text->is_string())
    return Status::badInput("its " + what + " is no text");
  return std::optional<std::string>(text->get<std::string>());
}

Status readConfig(const Json &json, TokenizerConfig &config) {
  Fields fields(json, "it");
  config.addPrefixSpace = fields.flag("add_prefix_space");
  if (!fields.any("add_bos_token").is_null())
    config.addBegin = fields.flag("add_bos_token");
  config.addEnd = fields.flag("add_eos_token");
  for (auto [name, text] : {std::pair("bos_token", &config.beginOfText), std::pair("eos_token", &config.endOfText)}) {
    Result<std::optional<std::string>> found = tokenText(fields.any(name), name);
    if (!found.ok())
      return found.status();
    *text = *found;
  }
  for (const auto &entry : fields.object("added_tokens_decoder").items()) {
    const std::string &key = entry.key();
    bool number = !key.empty() && key.size() <= 9 && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number)
      return Status::badInput("added token " + inQuotes(key) + " has no id");
    Result<AddedToken> token = addedTokenOf(entry.value(), std::stoll(key));
    if (!token.ok())
      return token.status();
    config.added.push_back(std::move(*token));
  }
  return fields.mistake(); // it has many other fields, which change no id
}

/// Lines of two tokens with a space between them; the first may be "#version: 0.2".
Status readMerges(std::string_view text, BpeParts &parts) {
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
    if (parts.merges.size() == mostTokens)
      return Status::badInput("it has more than " + std::to_string(mostTokens) + " merges");
    parts.merges.emplace_back(pair.substr(0, space), pair.substr(space + 1));
  }
  return {};
}

std::optional<int64_t> idIn(const BpeParts &parts, const std::string &name) {
  for (const AddedToken &token : parts.added)
    if (token.text == name)
      return token.id;
  for (const auto &[token, id] : parts.vocabulary)
    if (token == name)
      return id;
  return std::nullopt;
}

} // namespace

Result<TokenizerConfig> readTokenizerConfig(const std::string &folder) {
  TokenizerConfig config;
  std::string path = inFolder(folder, "tokenizer_config.json");
  std::error_code unknown;
  if (!fs::exists(path, unknown))
    return config;
  config.exists = true;
  Result<TokenizerJson> json = readTokenizerJson(path, Vocabulary::Nowhere);
  if (!json.ok())
    return json.status();
  Status status = readConfig(json->rest, config);
  return status.ok() ? Result<TokenizerConfig>(std::move(config)) : tokenizerFailure(path, status.message());
}

Result<BpeParts> partsOfVocabularyAndMerges(const std::string &folder) {
  BpeParts parts;
  Result<TokenizerConfig> config = readTokenizerConfig(folder);
  if (!config.ok())
    return config.status();
  std::error_code unknown;
  if (std::string path = inFolder(folder, "added_tokens.json"); fs::exists(path, unknown))
    return tokenizerFailure(path,
                            "npar takes added tokens from tokenizer_config.json or tokenizer.json only: save the tokenizer again with a "
                            "newer transformers package");
  Result<TokenizerJson> vocabulary = readTokenizerJson(inFolder(folder, "vocab.json"), Vocabulary::IsTheFile);
  if (!vocabulary.ok())
    return vocabulary.status();
  parts.vocabulary = std::move(vocabulary->vocabulary);

  std::string path = inFolder(folder, "merges.txt");
  Result<std::string> merges = readTokenizerFile(path);
  if (!merges.ok())
    return merges.status();
  if (Status status = readMerges(*merges, parts); !status.ok())
    return tokenizerFailure(path, status.message());

  parts.added = std::move(config->added);
  // GPT-2's end of text is a token of its vocabulary that nothing in these two files marks as special.
  constexpr const char *gpt2End = "<|endoftext|>";
  if (std::optional<int64_t> id = idIn(parts, gpt2End); id && parts.added.empty())
    parts.added.push_back({gpt2End, *id, true, false});
  parts.endOfText = config->endOfText ? config->endOfText : gpt2End;
  if (config->addBegin.value_or(false)) {
    std::optional<int64_t> id = idIn(parts, config->beginOfText.value_or(gpt2End));
    if (!id)
      return tokenizerFailure(inFolder(folder, "tokenizer_config.json"),
                              "it asks for 'add_bos_token', and its 'bos_token' is not in the vocabulary");
    parts.before.push_back(*id);
  }
  if (config->addPrefixSpace)
    parts.words.push_back({});
  auto pattern = Pattern::compile(gpt2Pattern);
  if (!pattern.ok())
    return pattern.status();
  parts.words.push_back({std::move(*pattern), true});
  return parts;
}

} // namespace npar::engine
