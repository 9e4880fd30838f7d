// The file has many other fields, which change no id.
#include "engine/text/TokenizerConfig.h"

#include "engine/text/Fields.h"
#include "engine/text/JsonFile.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"
#include "engine/text/TokenizerFile.h"

#include <algorithm>
#include <filesystem>
#include <map>

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

/// The name of a class without "Fast" at its end.
std::string slowClass(std::string type) {
  constexpr std::string_view fast = "Fast";
  if (size_t size = type.size(); size > fast.size() && type.substr(size - fast.size()) == fast)
    type.resize(size - fast.size());
  return type;
}

/// The special tokens of a file that are not known yet.
Status readSpecial(Fields &fields, TokenizerConfig &config) {
  const std::pair<const char *, std::optional<std::string> *> tokens[] = {
      {"bos_token", &config.begin},     {"eos_token", &config.end},     {"unk_token", &config.unknown}, {"cls_token", &config.classify},
      {"sep_token", &config.separator}, {"pad_token", &config.padding}, {"mask_token", &config.mask}};
  for (auto [name, known] : tokens) {
    TRY(std::optional<std::string> text, tokenText(fields.any(name), name));
    if (!*known)
      *known = std::move(text);
  }
  for (const char *name : {"additional_special_tokens", "extra_special_tokens"})
    for (const Json &each : fields.any(name)) { // a list, or an object of names and tokens
      TRY(std::optional<std::string> text, tokenText(each, name));
      if (text)
        config.furtherSpecial.push_back(std::move(*text));
    }
  return {};
}

Status readConfig(const Json &json, TokenizerConfig &config) {
  Fields fields(json, "it");
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
  TRY_STATUS(readSpecial(fields, config));
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

std::vector<std::string> TokenizerConfig::namedSpecial() const {
  std::vector<std::string> names;
  auto add = [&](const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (const std::optional<std::string> *token : {&begin, &end, &unknown, &separator, &padding, &classify, &mask})
    if (*token)
      add(**token);
  for (const std::string &token : furtherSpecial)
    add(token);
  return names;
}

Status completeConfig(const std::string &folder, TokenizerConfig &config) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  std::string special = (fs::path(folder) / "special_tokens_map.json").string(), model = (fs::path(folder) / "config.json").string();
  if (fs::exists(special, unknown)) {
    TRY(TokenizerJson json, readTokenizerJson(special, VocabularyPlace::Nowhere));
    Fields fields(json.rest, "it");
    Status status = readSpecial(fields, config);
    if (status.ok())
      status = fields.mistake();
    if (!status.ok())
      return tokenizerFailure(special, status.message());
  }
  if (!config.type.empty() || !fs::exists(model, unknown))
    return {};
  TRY(TokenizerJson json, readTokenizerJson(model, VocabularyPlace::Nowhere));
  Fields fields(json.rest, "it");
  const std::string type = fields.text("model_type");
  config.type = slowClass(fields.text("tokenizer_class"));
  if (Status status = fields.mistake(); !status.ok())
    return tokenizerFailure(model, status.message());
  static const std::map<std::string, const char *> classes = {// transformers/models/auto/tokenization_auto.py
                                                              {"albert", "AlbertTokenizer"},
                                                              {"bart", "BartTokenizer"},
                                                              {"bert", "BertTokenizer"},
                                                              {"distilbert", "DistilBertTokenizer"},
                                                              {"electra", "ElectraTokenizer"},
                                                              {"gemma", "GemmaTokenizer"},
                                                              {"gemma2", "GemmaTokenizer"},
                                                              {"gemma3_text", "GemmaTokenizer"},
                                                              {"gpt2", "GPT2Tokenizer"},
                                                              {"gpt_neo", "GPT2Tokenizer"},
                                                              {"gptj", "GPT2Tokenizer"},
                                                              {"llama", "LlamaTokenizer"},
                                                              {"longformer", "LongformerTokenizer"},
                                                              {"mistral", "LlamaTokenizer"},
                                                              {"mobilebert", "MobileBertTokenizer"},
                                                              {"mt5", "MT5Tokenizer"},
                                                              {"opt", "GPT2Tokenizer"},
                                                              {"phi3", "LlamaTokenizer"},
                                                              {"qwen2", "Qwen2Tokenizer"},
                                                              {"qwen3", "Qwen2Tokenizer"},
                                                              {"roberta", "RobertaTokenizer"},
                                                              {"t5", "T5Tokenizer"},
                                                              {"xlm-roberta", "XLMRobertaTokenizer"}};
  if (!config.type.empty())
    return {};
  if (auto known = classes.find(type); known != classes.end())
    config.type = known->second;
  else if (!type.empty())
    return tokenizerFailure(model, "no file names the tokenizer_class, and npar does not know that of the model_type " + inQuotes(type) +
                                       ": name it in tokenizer_config.json, or save a tokenizer.json");
  return {};
}

} // namespace npar::engine
