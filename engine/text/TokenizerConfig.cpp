// The file has many other fields, which change no id.
#include "engine/text/TokenizerConfig.h"

#include "engine/text/Fields.h"
#include "engine/text/JsonFile.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/TokenizerFile.h"

#include <algorithm>
#include <filesystem>

namespace npar::engine {
namespace {

/// A token's text: "<s>", or the content of an object.
Result<std::optional<std::string>> tokenText(const Json &value, const std::string &what) {
  if (value.is_null())
    return std::optional<std::string>();
  const Json *text = value.is_object() && value.contains("content") ? &value["content"] : &value;
  if (!text->is_string())
    return Status::badInput("its " + what + " is no text");
  return std::optional<std::string>(text->get<std::string>());
}

Result<std::vector<AddedToken>> readAdded(const Json &decoder) {
  std::vector<AddedToken> added;
  for (const auto &entry : decoder.items()) {
    const std::string &key = entry.key();
    bool number = !key.empty() && key.size() <= 9 && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number)
      return Status::badInput("added token " + inQuotes(key) + " has no id");
    TRY(AddedToken token, addedTokenOf(entry.value(), std::stoll(key)));
    added.push_back(std::move(token));
  }
  return added;
}

Status readConfig(const Json &json, TokenizerConfig &config) {
  Fields fields(json, "it");
  config.type = fields.text("tokenizer_class");
  constexpr std::string_view fast = "Fast";
  if (size_t size = config.type.size(); size > fast.size() && config.type.substr(size - fast.size()) == fast)
    config.type.resize(size - fast.size());
  config.addPrefixSpace = fields.flag("add_prefix_space");
  if (!fields.any("add_bos_token").is_null())
    config.addBegin = fields.flag("add_bos_token");
  config.addEnd = fields.flag("add_eos_token");
  config.lowercase = fields.flag("do_lower_case", true);
  config.splitsChinese = fields.flag("tokenize_chinese_chars", true);
  if (!fields.any("strip_accents").is_null())
    config.stripsAccents = fields.flag("strip_accents");
  const std::pair<const char *, std::optional<std::string> *> tokens[] = {
      {"bos_token", &config.begin},     {"eos_token", &config.end},     {"unk_token", &config.unknown}, {"cls_token", &config.classify},
      {"sep_token", &config.separator}, {"pad_token", &config.padding}, {"mask_token", &config.mask}};
  for (auto [name, text] : tokens) {
    TRY(*text, tokenText(fields.any(name), name));
  }
  TRY(config.added, readAdded(fields.object("added_tokens_decoder")));
  return fields.mistake();
}

} // namespace

Result<TokenizerConfig> readTokenizerConfig(const std::string &folder) {
  TokenizerConfig config;
  std::string path = (std::filesystem::path(folder) / "tokenizer_config.json").string();
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    return config;
  config.exists = true;
  TRY(TokenizerJson json, readTokenizerJson(path, VocabularyPlace::Nowhere));
  if (Status status = readConfig(json.rest, config); !status.ok())
    return tokenizerFailure(path, status.message());
  return config;
}

} // namespace npar::engine
