// The files have many other fields, which change no id.
#include "engine/text/TokenizerConfig.h"

#include "engine/files/InsideFolder.h"
#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/JsonFile.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/TokenizerFile.h"

#include <algorithm>
#include <filesystem>

namespace npar::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char *roleNames[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
static_assert(std::size(roleNames) == TokenizerConfig::roles);

bool endsWith(std::string_view text, std::string_view with) {
  return text.size() > with.size() && text.substr(text.size() - with.size()) == with;
}

/// A special token: "<s>", or an object with a content. `named`: it has a role, and is special without saying so.
Result<AddedToken> readSpecialToken(const Json &value, const std::string &what, bool named) {
  AddedToken token;
  if (value.is_null())
    return token;
  if (value.is_object() && value.contains("content")) {
    Json plain = value;
    plain.erase("__type");
    if (named || !plain.contains("special"))
      plain["special"] = named;
    TRY(token, addedTokenOf(plain, -1));
    return token;
  }
  if (!value.is_string())
    return Status::badInput("its " + what + " is no text");
  token.text = value.get<std::string>();
  token.special = true;
  return token;
}

/// A list, or an object of names and tokens.
Status readFurther(const Json &tokens, const std::string &name, TokenizerConfig &config) {
  for (const Json &each : tokens) {
    TRY(AddedToken token, readSpecialToken(each, name, /*named=*/tokens.is_object()));
    if (!token.text.empty())
      (tokens.is_object() ? config.modelSpecial : config.furtherSpecial).push_back(std::move(token));
  }
  return {};
}

/// Later files win.
Status readSpecial(const Json &json, TokenizerConfig &config) {
  for (size_t role = 0; role < TokenizerConfig::roles; ++role)
    if (json.contains(roleNames[role])) {
      TRY(config.special[role], readSpecialToken(json[roleNames[role]], roleNames[role], /*named=*/true));
    }
  for (const auto &[name, value] : json.items()) {
    bool isRole = std::find(std::begin(roleNames), std::end(roleNames), name) != std::end(roleNames);
    if (!isRole && endsWith(name, "_token") && (value.is_string() || (value.is_object() && value.contains("content")))) {
      TRY(AddedToken token, readSpecialToken(value, name, /*named=*/true));
      config.modelSpecial.push_back(std::move(token));
    }
  }
  const Json &further = member(json, "extra_special_tokens"), &older = member(json, "additional_special_tokens");
  TRY_STATUS(readFurther(further, "extra_special_tokens", config));
  if (further.empty() && !config.namesFurther)
    TRY_STATUS(readFurther(older, "additional_special_tokens", config));
  config.namesFurther |= !further.is_null() || !older.is_null();
  return {};
}

Status readAdded(const Json &decoder, TokenizerConfig &config) {
  for (const auto &entry : decoder.items()) {
    const std::string &key = entry.key();
    bool number = !key.empty() && key.size() <= 9 && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number)
      return Status::badInput("added token " + inQuotes(key) + " has no id");
    TRY(AddedToken token, addedTokenOf(entry.value(), std::stoll(key)));
    config.added.push_back(std::move(token));
  }
  return {};
}

Status readConfig(const Json &json, TokenizerConfig &config) {
  Fields fields(json, "it");
  config.exists = true;
  config.type = slowClass(fields.text("tokenizer_class"));
  config.addPrefixSpace = fields.flag("add_prefix_space");
  config.prefixSpaceOff = !fields.flag("add_prefix_space", true);
  if (!fields.any("add_bos_token").is_null())
    config.addBegin = fields.flag("add_bos_token");
  config.addEnd = fields.flag("add_eos_token");
  config.lowercase = fields.flag("do_lower_case", true);
  config.splitsChinese = fields.flag("tokenize_chinese_chars", true);
  if (!fields.any("strip_accents").is_null())
    config.stripsAccents = fields.flag("strip_accents");
  config.keepsAccents = fields.flag("keep_accents");
  config.extraIds = fields.number("extra_ids", config.extraIds);
  if (fields.flag("split_special_tokens"))
    fields.refuse("has 'split_special_tokens', with which special tokens are not found in texts: npar always finds them");
  const Json &decoder = fields.object("added_tokens_decoder");
  TRY_STATUS(fields.mistake());
  config.listsAdded = !decoder.is_null();
  TRY_STATUS(readSpecial(json, config));
  return readAdded(decoder, config);
}

/// {"<new>": 32000}, as the first versions of transformers wrote.
Status readOldAdded(const Json &json, TokenizerConfig &config) {
  auto isNamed = [&](const std::string &text) {
    auto is = [&](const auto &token) { return token.text == text; };
    return std::any_of(config.special.begin(), config.special.end(), [&](const auto &token) { return token && is(*token); }) ||
           std::any_of(config.furtherSpecial.begin(), config.furtherSpecial.end(), is);
  };
  for (const auto &[text, id] : json.items()) {
    if (!id.is_number_integer() || id < 0 || id > int64_t{INT32_MAX})
      return Status::badInput("added token " + inQuotes(text) + " has no id");
    AddedToken token{text, id.get<int64_t>(), isNamed(text), !isNamed(text), false, false, false};
    config.added.push_back(std::move(token));
  }
  return {};
}

/// Reads a file of the folder, if it is there. Errors name it.
Status readPart(const std::string &folder, const char *name, Status (*read)(const Json &, TokenizerConfig &), TokenizerConfig &config) {
  std::string path = files::joined(folder, name);
  std::error_code unknown;
  if (!fs::exists(path, unknown))
    return {};
  TRY(TokenizerJson json, readTokenizerJson(path, VocabularyPlace::Nowhere));
  Status status = json.rest.is_object() ? read(json.rest, config) : Status::badInput("it is no JSON object");
  return status.ok() ? status : tokenizerFailure(path, status.message());
}

} // namespace

std::string slowClass(std::string type) {
  constexpr std::string_view fast = "Fast";
  if (endsWith(type, fast))
    type.resize(type.size() - fast.size());
  return type;
}

std::string TokenizerConfig::text(Role role, const std::string &otherwise) const {
  const std::optional<AddedToken> &token = special[static_cast<size_t>(role)];
  return token && !token->text.empty() ? token->text : otherwise;
}

Result<TokenizerConfig> readTokenizerConfig(const std::string &folder) {
  TokenizerConfig config;
  TRY_STATUS(readPart(folder, "tokenizer_config.json", readConfig, config));
  if (!config.listsAdded) {
    TRY_STATUS(readPart(folder, "special_tokens_map.json", readSpecial, config));
    TRY_STATUS(readPart(folder, "added_tokens.json", readOldAdded, config));
  }
  std::stable_sort(config.added.begin(), config.added.end(), [](const AddedToken &a, const AddedToken &b) { return a.id < b.id; });
  return config;
}

} // namespace npar::engine
