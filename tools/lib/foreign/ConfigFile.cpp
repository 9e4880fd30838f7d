// Reads and writes config.json. Knows only the file format and the keys that all models share; a family's own keys are declared in .npar.
#include "tools/lib/foreign/ConfigFile.h"

#include "engine/checkpoint/JsonTree.h"
#include "engine/files/RangeFile.h"
#include "engine/readable/Printable.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

namespace npar::foreign {
namespace {

using engine::Result;
using engine::Status;

constexpr uint64_t largestConfig = 10'000'000; ///< bytes
constexpr engine::JsonLimits limits = {16, 200'000};
constexpr size_t longestFamily = 200; ///< bytes in a family's name
constexpr size_t longestKey = 1000;   ///< bytes, including the keys of the enclosing objects

/// Keys that files of any model may have and that do not affect the computation: options of text generation, class names of a task, origin
/// of the file. A key that ends with a period stands for an object and everything in it. stdlib/FAMILIES.md lists them too.
constexpr std::array generalKeys = {"_attn_implementation",
                                    "_attn_implementation_autoset",
                                    "_attn_implementation_internal",
                                    "_commit_hash",
                                    "_name_or_path",
                                    "_num_labels",
                                    "attn_implementation",
                                    "auto_map.",
                                    "bad_words_ids",
                                    "begin_suppress_tokens",
                                    "bos_token_id",
                                    "chunk_size_feed_forward",
                                    "cls_token_id",
                                    "cross_attention_hidden_size",
                                    "custom_pipelines.",
                                    "decoder_start_token_id",
                                    "directionality",
                                    "diversity_penalty",
                                    "do_sample",
                                    "dtype",
                                    "early_stopping",
                                    "encoder_no_repeat_ngram_size",
                                    "eos_token_id",
                                    "exponential_decay_length_penalty.",
                                    "finetuning_task",
                                    "forced_bos_token_id",
                                    "forced_eos_token_id",
                                    "gradient_checkpointing",
                                    "id2label.",
                                    "is_decoder",
                                    "label2id.",
                                    "length_penalty",
                                    "mask_token_id",
                                    "max_length",
                                    "max_sequence_length",
                                    "min_length",
                                    "model_max_length",
                                    "no_repeat_ngram_size",
                                    "num_beam_groups",
                                    "num_beams",
                                    "num_labels",
                                    "num_return_sequences",
                                    "output_attentions",
                                    "output_hidden_states",
                                    "output_past",
                                    "output_scores",
                                    "pad_token_id",
                                    "pooler_fc_size",
                                    "pooler_num_attention_heads",
                                    "pooler_num_fc_layers",
                                    "pooler_size_per_head",
                                    "pooler_type",
                                    "prefix",
                                    "remove_invalid_values",
                                    "repetition_penalty",
                                    "return_dict",
                                    "return_dict_in_generate",
                                    "sbert_ce_default_activation_function",
                                    "sentence_transformers.",
                                    "sep_token_id",
                                    "suppress_tokens",
                                    "task_specific_params.",
                                    "temperature",
                                    "tf_legacy_loss",
                                    "tokenizer_class",
                                    "top_k",
                                    "top_p",
                                    "torch_dtype",
                                    "torchscript",
                                    "transformers\\.js_config.",
                                    "transformers_version",
                                    "typical_p",
                                    "unk_token_id",
                                    "unsloth_fixed",
                                    "unsloth_version",
                                    "use_bfloat16",
                                    "use_cache"};

/// Keys of features that no model of npar has unless its family reads the key; values other than null, false and {} are refused.
constexpr std::array absentKeys = {"add_cross_attention", "is_encoder_decoder", "pruned_heads", "tie_encoder_decoder"};

bool isGeneral(const std::string &key) {
  return std::any_of(generalKeys.begin(), generalKeys.end(), [&](const std::string &general) {
    return general.back() == '.' ? key.rfind(general, 0) == 0 || key + "." == general : key == general;
  });
}

/// True for the entry of this key and for those in its object.
bool isIn(const std::string &key, const dsl::ConfigEntry &entry) { return entry.key == key || entry.key.rfind(key + ".", 0) == 0; }

/// A value as shown in messages, at most 60 characters.
std::string shown(const Json &value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

/// A list that is not empty and whose values are all of one kind.
bool isListOf(const Json &value, bool (Json::*isKind)() const noexcept) {
  return value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), [&](const Json &each) { return (each.*isKind)(); });
}

/// A name without points of its own, which would look like those between the names of nested objects.
std::string escaped(const std::string &name) {
  std::string text;
  for (char letter : name)
    text += letter == '.' ? std::string("\\.") : std::string(1, letter);
  return text;
}

/// Appends all entries of nested objects. False if a key, which every key inside its object repeats as a prefix, is too long.
bool flatten(const std::string &prefix, const Json &object, std::vector<dsl::ConfigEntry> &entries) {
  for (const auto &[name, value] : object.items()) {
    std::string key = escaped(readable::printableName(name)); // a known key needs no escapes
    if (prefix.size() + key.size() > longestKey)
      return false;
    if (value.is_object() && !value.empty()) {
      if (!flatten(prefix + key + ".", value, entries))
        return false;
      continue;
    }
    dsl::ConfigEntry entry{prefix + key, std::monostate(), shown(value)};
    if (value.is_boolean())
      entry.value = value.get<bool>();
    else if (value.is_string())
      entry.value = value.get<std::string>();
    else if (value.is_number_float())
      entry.value = value.get<double>();
    else if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
      entry.plain = false;
    else if (value.is_number_integer())
      entry.value = value.get<int64_t>();
    else if (isListOf(value, &Json::is_number))
      entry.value = value.get<std::vector<double>>();
    else if (isListOf(value, &Json::is_string))
      entry.value = value.get<std::vector<std::string>>();
    else
      entry.plain = value.is_null();
    entries.push_back(std::move(entry));
  }
  return true;
}

Result<std::string> readText(const std::string &path) {
  Result<files::RangeFile> file = files::RangeFile::open(path, "configuration");
  if (!file.ok())
    return file.status();
  if (file->size() > largestConfig)
    return Status::badInput("cannot read configuration '" + path + "': it has " + std::to_string(file->size()) +
                            " bytes, a config.json has at most " + std::to_string(largestConfig));
  std::string text(file->size(), '\0');
  Status status = file->read(0, text.size(), text.data());
  return status.ok() ? Result<std::string>(std::move(text)) : status;
}

/// A list of whole numbers, which other programs take for numbers of things.
OrderedJson integersOf(const std::vector<double> &numbers) { return std::vector<int64_t>(numbers.begin(), numbers.end()); }

bool isWhole(double number) { return number == std::floor(number) && std::fabs(number) < 1e15; }

OrderedJson jsonOf(const dsl::ConfigValue &value) {
  if (auto *numbers = std::get_if<std::vector<double>>(&value); numbers && std::all_of(numbers->begin(), numbers->end(), isWhole))
    return integersOf(*numbers);
  return std::visit(
      [](const auto &given) {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, std::monostate>)
          return OrderedJson();
        else
          return OrderedJson(given);
      },
      value);
}

/// The object that has a key, which names enclosing objects in front of points, and the key's own name; null if the file lacks it.
std::pair<OrderedJson *, std::string> find(OrderedJson &json, const std::string &key) {
  OrderedJson *object = &json;
  for (size_t begin = 0;;) {
    size_t point = key.find('.', begin);
    std::string name = key.substr(begin, point == std::string::npos ? point : point - begin);
    if (!object->is_object() || !object->contains(name))
      return {nullptr, name};
    if (point == std::string::npos)
      return {object, name};
    object = &(*object)[name];
    begin = point + 1;
  }
}

/// True if the file's value means what the entry says, so that it stays as it is written there.
bool isSame(const OrderedJson &present, const dsl::ConfigEntry &entry) {
  auto isGood = [&](const OrderedJson &value) {
    return value == jsonOf(entry.value) || // 1 and 1.0 are equal
           std::any_of(entry.otherValues.begin(), entry.otherValues.end(), [&](const auto &other) { return value == jsonOf(other); });
  };
  if (present.is_array() && present.empty())
    return std::holds_alternative<std::monostate>(entry.value);
  return isGood(present) || (present.is_array() && std::all_of(present.begin(), present.end(), isGood));
}

/// Writes an entry over another value under one of its keys. Returns true if the file has the key, also if it is removed.
bool writeOver(const std::string &key, const dsl::ConfigEntry &entry, OrderedJson &json) {
  if (const std::string counted = ".#"; key.size() > 2 && key.compare(key.size() - 2, 2, counted) == 0) {
    auto [object, name] = find(json, key.substr(0, key.size() - 2));
    if (object && isSame(OrderedJson((*object)[name].size()), entry))
      return true;
    if (object)
      object->erase(name);
    return false;
  }
  auto [object, name] = find(json, key);
  if (!object || isSame((*object)[name], entry))
    return object;
  if (OrderedJson value = jsonOf(entry.value); value.is_null() && entry.optional)
    object->erase(name);
  else
    (*object)[name] = value;
  return true;
}

/// Writes an entry under each of its names that the file has already, or else under its first name.
void write(const dsl::ConfigEntry &entry, OrderedJson &json) {
  bool found = writeOver(entry.key, entry, json);
  for (const std::string &key : entry.otherKeys)
    found |= writeOver(key, entry, json);
  if (found || entry.optional)
    return;
  OrderedJson *object = &json;
  size_t begin = 0;
  for (size_t point = entry.key.find('.'); point != std::string::npos; begin = point + 1, point = entry.key.find('.', begin)) {
    object = &(*object)[entry.key.substr(begin, point - begin)];
    if (!object->is_object())
      *object = OrderedJson::object();
  }
  (*object)[entry.key.substr(begin)] = jsonOf(entry.value);
}

/// The number of labels; 0 if the model has none.
size_t labelsOf(const OrderedJson &json) {
  if (json.contains("id2label") && json["id2label"].is_object())
    return json["id2label"].size();
  return json.contains("num_labels") && json["num_labels"].is_number_integer() ? json["num_labels"].get<size_t>() : 0;
}

/// Writes the names of labels as transformers does, with the numbers as keys and as values.
void nameLabels(const std::vector<std::string> &classes, OrderedJson &json) {
  json["id2label"] = json["label2id"] = OrderedJson::object();
  for (size_t i = 0; i < classes.size(); ++i)
    json["id2label"][std::to_string(i)] = classes[i], json["label2id"][classes[i]] = i;
}

} // namespace

std::vector<std::string> namesOfClasses(const std::string &folder) {
  std::vector<std::string> names;
  bool areOwn = false;
  for (const char *name : {"/config.json", "/model/config.json"}) {
    std::error_code ignored;
    if (folder.empty() || !std::filesystem::exists(folder + name, ignored))
      continue;
    Result<std::string> text = readText(folder + name);
    Result<Json> tree = text.ok() ? engine::parseJsonTree(*text, limits) : Result<Json>(text.status());
    if (!tree.ok() || !tree->is_object() || !tree->contains("id2label") || !(*tree)["id2label"].is_object())
      continue;
    const Json &labels = (*tree)["id2label"];
    for (size_t i = 0; i < labels.size(); ++i) {
      const std::string number = std::to_string(i);
      if (!labels.contains(number) || !labels[number].is_string())
        return {};
      names.push_back(readable::printableName(labels[number].get<std::string>()));
      areOwn |= names.back() != "LABEL_" + number;
    }
    break;
  }
  return areOwn ? names : std::vector<std::string>();
}

Result<ConfigFile> readConfigFile(const std::string &path, const std::vector<std::string> &ignored) {
  Result<std::string> text = readText(path);
  if (!text.ok())
    return text.status();
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read configuration '" + path + "': " + why); };
  Result<Json> tree = engine::parseJsonTree(*text, limits);
  if (!tree.ok())
    return failure(tree.status().message());
  if (!tree->is_object() || !tree->contains("model_type") || !(*tree)["model_type"].is_string())
    return failure("it has no 'model_type', which must name the model's family");
  ConfigFile config;
  config.path = path;
  config.modelType = readable::printableName((*tree)["model_type"].get<std::string>());
  if (config.modelType.size() > longestFamily)
    return failure("its 'model_type' has " + std::to_string(config.modelType.size()) + " bytes, the name of a family has at most " +
                   std::to_string(longestFamily));
  tree->erase("model_type");
  if (auto classes = tree->find("architectures"); classes != tree->end()) {
    if (!classes->is_null() && !classes->is_array())
      return failure("'architectures' is " + shown(*classes) + ", not a list");
    for (const Json &each : *classes)
      config.architectures.push_back(each.is_string() ? readable::printableName(each.get<std::string>()) : shown(each));
    tree->erase(classes);
  }
  if (!flatten("", *tree, config.entries))
    return failure("it has a key of more than " + std::to_string(longestKey) + " bytes, with those of the objects around it");
  for (const std::string &key : ignored) {
    auto isIgnored = [&](const dsl::ConfigEntry &entry) { return isIn(key, entry) || isIn(escaped(key), entry); };
    auto kept = std::remove_if(config.entries.begin(), config.entries.end(), isIgnored);
    if (kept == config.entries.end())
      return Status::badInput("configuration '" + path + "' has no key '" + key + "' to ignore");
    config.entries.erase(kept, config.entries.end());
  }
  for (dsl::ConfigEntry &entry : config.entries) {
    if (isIn("quantization_config", entry) && !entry.isOff())
      return Status::badInput("configuration '" + path +
                              "' says in 'quantization_config' that the weights are quantized, and npar reads floating-point weights "
                              "only: save them dequantized, or give --ignore-key quantization_config if they are so already");
    bool absent = std::any_of(absentKeys.begin(), absentKeys.end(), [&](const std::string &key) { return isIn(key, entry); });
    if (absent && !entry.isOff())
      entry.scope = dsl::ConfigEntry::Scope::Absent;
    else if (absent || isGeneral(entry.key))
      entry.scope = dsl::ConfigEntry::Scope::General;
  }
  return config;
}

Result<ConfigText> configText(const dsl::FamilyConfig &config, const std::string &type, const std::string &base,
                              const std::vector<std::string> &classes) {
  OrderedJson json = {{"architectures", OrderedJson::array()}, {"model_type", config.family}};
  bool copied = false;
  if (!base.empty()) {
    TRY(std::string text, readText(base));
    TRY(Json tree, engine::parseJsonTree(text, limits));
    copied = tree.is_object() && tree.contains("model_type") && tree["model_type"] == config.family;
    if (copied)
      for (const auto &[key, value] : tree.items())
        json[key] = value;
    for (const char *key : {"dtype", "torch_dtype", "transformers_version", "_name_or_path"}) // of the old weights
      json.erase(key);
  }
  if (!config.architecture.empty())
    json["architectures"] = {config.architecture};
  else
    json.erase("architectures");
  for (const dsl::ConfigEntry &entry : config.entries)
    write(entry, json);
  if (!type.empty())
    json["torch_dtype"] = type;
  const size_t labels = labelsOf(json);
  if (labels > 0 && labels == classes.size())
    nameLabels(classes, json);
  ConfigText result;
  const bool lostNames = json.contains("label2id") && !json.contains("id2label"); // those of another number of labels
  if (lostNames)
    json.erase("label2id");
  if (!copied && json.contains("vocab_size"))
    // Null because transformers would replace missing special tokens by those of the published models.
    for (const char *key : {"bos_token_id", "eos_token_id", "pad_token_id"})
      if (!json.contains(key)) {
        json[key] = nullptr;
        result.unknown.emplace_back(key);
      }
  if (labels > 0 && !json.contains("id2label") && (lostNames || !copied))
    result.unknown.emplace_back("id2label");
  result.text = json.dump(2) + "\n";
  return result;
}

} // namespace npar::foreign
