// Parses and applies `--set key=value`.
#include "dsl/constants/Settings.h"
#include "dsl/Suggestions.h"
#include "dsl/parse/Parse.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace npar::dsl {
namespace {

/// Names of files such as mine.csv: their ending is no number and no part of an expression.
bool isFileName(const std::string &text) {
  size_t point = text.rfind('.');
  return point != std::string::npos && point + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[point + 1])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-'; });
}

/// Words such as 1f1b, that no expression can hold.
bool isWord(const std::string &text) {
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])))
    ++digits;
  bool exponent = digits + 1 < text.size() && (text[digits] == 'e' || text[digits] == 'E') &&
                  std::all_of(text.begin() + static_cast<long>(digits) + 1, text.end(), [](unsigned char c) { return std::isdigit(c); });
  return digits > 0 && digits < text.size() && !exponent &&
         std::all_of(text.begin() + static_cast<long>(digits), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

/// A number of bytes with its unit, such as 8MiB, 1.5 GB.
bool isByteCount(const std::string &text) {
  size_t unit = text.find_first_not_of("0123456789.");
  size_t letters = unit == std::string::npos ? unit : text.find_first_not_of(' ', unit);
  return unit > 0 && letters != std::string::npos && text.back() == 'B' &&
         std::all_of(text.begin() + static_cast<long>(letters), text.end(), [](unsigned char c) { return std::isalpha(c); });
}

/// A setting as other programs call it, and what may be its name here: the first of these that the text has.
struct ForeignSetting {
  const char *word;
  std::vector<std::string> here;
};

/// Words of Megatron-LM, torchtitan, DeepSpeed and Hugging Face, with '_' for '-', in lower case.
const std::vector<ForeignSetting> &foreignSettings() {
  static const std::vector<std::string> tensor = {"mesh.tp"}, pipeline = {"mesh.pp"}, data = {"mesh.dp"}, context = {"mesh.cp"};
  static const std::vector<ForeignSetting> all = {
      {"tensor_parallel_size", tensor},
      {"tensor_model_parallel_size", tensor},
      {"tensor_parallel_degree", tensor},
      {"tensor_parallel", tensor},
      {"tp_size", tensor},
      {"tp", tensor},
      {"pipeline_parallel_size", pipeline},
      {"pipeline_model_parallel_size", pipeline},
      {"pipeline_parallel_degree", pipeline},
      {"pipeline_stages", pipeline},
      {"pp_size", pipeline},
      {"pp", pipeline},
      {"data_parallel_size", data},
      {"data_parallel_degree", data},
      {"data_parallel_replicate_degree", data},
      {"dp_size", data},
      {"dp", data},
      {"context_parallel_size", context},
      {"context_parallel_degree", context},
      {"cp_size", context},
      {"cp", context},
      {"data_parallel_shard_degree", {"zero"}},
      {"zero_stage", {"zero"}},
      {"stage", {"zero"}},
      {"fsdp", {"zero"}},
      {"micro_batch_size", {"micro"}},
      {"microbatch_size", {"micro"}},
      {"train_micro_batch_size_per_gpu", {"micro"}},
      {"per_device_train_batch_size", {"micro"}},
      {"global_batch_size", {"batch"}},
      {"train_batch_size", {"batch"}},
      {"batch_size", {"batch"}},
      {"dtype", {"compute"}},
      {"precision", {"compute"}},
      {"mixed_precision", {"compute"}},
      {"recompute_granularity", {"recompute"}},
      {"activation_checkpoint", {"recompute"}},
      {"gradient_clipping", {"clip"}},
      {"clip_grad", {"clip"}},
      {"grad_clip", {"clip"}},
      {"max_grad_norm", {"clip"}},
      {"learning_rate", {"lr", "peak", "optimizer.lr"}},
      {"lr", {"peak", "optimizer.lr"}},
      {"bf16", {"compute"}},
      {"fp16", {"compute"}},
      {"gradient_accumulation_steps", {"accumulate", "micro"}},
      {"world_size", {"world"}},
      {"weight_decay", {"decay", "optimizer.decay"}},
      {"hidden_size", {"width"}},
      {"n_embd", {"width"}},
      {"d_model", {"width"}},
      {"dim", {"width"}},
      {"num_layers", {"depth"}},
      {"num_hidden_layers", {"depth"}},
      {"n_layer", {"depth"}},
      {"n_layers", {"depth"}},
      {"num_attention_heads", {"heads"}},
      {"n_head", {"heads"}},
      {"n_heads", {"heads"}},
      {"num_key_value_heads", {"kv_heads"}},
      {"num_query_groups", {"kv_heads"}},
      {"seq_length", {"length"}},
      {"seq_len", {"length"}},
      {"max_position_embeddings", {"context", "length"}},
      {"n_positions", {"context", "length"}},
      {"vocab_size", {"vocab"}},
      {"padded_vocab_size", {"vocab"}},
      {"ffn_hidden_size", {"mlp", "inner"}},
      {"intermediate_size", {"mlp", "inner"}},
  };
  return all;
}

/// The known settings that an unknown one was probably meant to be.
Helps meantBy(const std::string &key, const std::vector<std::string> &known) {
  std::string word;
  for (unsigned char letter : key)
    word += letter == '-' ? '_' : static_cast<char>(std::tolower(letter));
  for (const ForeignSetting &foreign : foreignSettings())
    if (foreign.word == word)
      for (const std::string &name : foreign.here)
        if (std::find(known.begin(), known.end(), name) != known.end())
          return {"here it is called '" + name + "'"};
  return didYouMean(key, known);
}

} // namespace

Settings::Settings(const std::vector<std::pair<std::string, std::string>> &pairs, Sources &sources, Diagnostics &diagnostics) {
  for (const auto &[key, value] : pairs) {
    Setting setting;
    setting.key = key;
    uint32_t file = sources.add(labelOf(engine::Option::Setting), key + "=" + value);
    setting.keyLocation = {file, 1, 1, static_cast<uint32_t>(std::max<size_t>(1, key.size()))};
    Location at{file, 1, static_cast<uint32_t>(key.size() + 2), static_cast<uint32_t>(std::max<size_t>(1, value.size()))};
    if (isWord(value) || isByteCount(value) || isFileName(value)) {
      setting.value = std::make_unique<ast::Expression>();
      setting.value->kind = ast::ExpressionKind::Text;
      setting.value->text = value;
      setting.value->location = at;
    } else {
      setting.value = parseExpression(file, key.size() + 1, sources, diagnostics);
    }
    if (setting.value)
      list.push_back(std::move(setting));
  }
}

const Setting *Settings::find(const std::string &key) {
  known.push_back(key);
  const Setting *result = nullptr;
  for (Setting &s : list)
    if (s.key == key) {
      s.used = true;
      result = &s;
    }
  return result;
}

bool Settings::has(const std::string &key) const {
  return std::any_of(list.begin(), list.end(), [&](const Setting &each) { return each.key == key; });
}

bool Settings::accept(const std::string &key) {
  bool isKnown = std::find(known.begin(), known.end(), key) != known.end();
  return find(key) && !isKnown;
}

void Settings::reportUnknown(Reporter &reporter) const {
  for (const Setting &s : list)
    if (!s.used) {
      Helps helps = meantBy(s.key, known);
      if (helps.empty()) {
        std::vector<std::string> names = known;
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        helps.push_back("it is one of " + joined(names));
      }
      reporter.error(Code::L8, s.keyLocation, "unknown setting '" + s.key + "'", helps);
    }
}

const std::vector<std::string> &settingNames() {
  static const std::vector<std::string> names = {"batch",    "clip",    "seed",      "micro",  "accumulate", "compute", "reduce",
                                                 "products", "central", "recompute", "bucket", "data",       "world"};
  return names;
}

Value evaluateSetting(Evaluator &evaluator, const Setting &setting, Scope &scope) {
  if (setting.value->kind == ast::ExpressionKind::Name && !scope.find(setting.value->text))
    return setting.value->text;
  return evaluator.evaluate(*setting.value, scope);
}

namespace {

/// The value that a configuration gives to a constant, null when it does not.
const ast::Expression *valueIn(const ast::Config *config, const std::string &name) {
  if (config)
    for (const ast::Item &item : config->values)
      if (item.name.text == name)
        return item.value.get();
  return nullptr;
}

/// Reports what a configuration cannot set.
void checkConfig(Reporter &reporter, const ast::Config &config, const std::vector<ast::Item> &parameters, const std::string &what) {
  std::vector<std::string> names;
  for (const ast::Item &p : parameters)
    names.push_back(p.name.text);
  for (const ast::Item &item : config.values) {
    if (std::find(names.begin(), names.end(), item.name.text) == names.end())
      reporter.error(Code::L8, item.name.location, what + " has no constant '" + item.name.text + "'", didYouMean(item.name.text, names));
    else if (!item.value)
      reporter.error(Code::L8, item.name.location, "configuration \"" + config.name.text + "\" gives no value to '" + item.name.text + "'",
                     {"write " + item.name.text + " = ..."});
    for (const ast::Item &before : config.values) {
      if (&before == &item)
        break;
      if (before.name.text == item.name.text)
        reporter.error(Code::L6, item.name.location, "'" + item.name.text + "' is given twice", before.name.location, "first given here");
    }
  }
}

} // namespace

void bindConstants(Evaluator &evaluator, const std::vector<ast::Item> &parameters, Settings &settings, Scope &scope,
                   const std::string &what, const ast::Config *config) {
  if (config)
    checkConfig(evaluator.reporter, *config, parameters, what);
  for (const ast::Item &p : parameters) {
    if (Binding *before = scope.findHere(p.name.text)) {
      evaluator.reporter.error(Code::L6, p.name.location, "constant '" + p.name.text + "' is declared twice", before->location,
                               "first declared here");
      continue;
    }
    if (std::find(settingNames().begin(), settingNames().end(), p.name.text) != settingNames().end())
      evaluator.reporter.error(Code::L4, p.name.location, "a constant cannot be called '" + p.name.text + "': a setting has this name",
                               {"give it another name"});
    const Setting *setting = settings.find(p.name.text);
    const ast::Expression *given = setting ? setting->value.get() : valueIn(config, p.name.text);
    Value value = Poison{};
    try {
      Value fallback = Poison{};
      // The default is evaluated even when it is set: it tells the kind of the constant.
      if (p.value && (!given || p.value->kind != ast::ExpressionKind::Chain))
        fallback = evaluator.evaluate(*p.value, scope);
      value = setting ? evaluateSetting(evaluator, *setting, scope) : given ? evaluator.evaluate(*given, scope) : fallback;
      bool mayBeNone = std::holds_alternative<None>(fallback);
      if (auto *word = std::get_if<std::string>(&value); mayBeNone && word && *word == "none")
        value = None{};
      if (!given && !p.value)
        evaluator.reporter.fail(Code::L8, p.name.location, "constant '" + p.name.text + "' of " + what + " has no value",
                                {"set it: " + nameOf(engine::Option::Setting, p.name.text + "=...")});
      bool sameKind = mayBeNone || std::holds_alternative<Poison>(fallback) || fallback.index() == value.index() ||
                      (isNumber(fallback) && isNumber(value));
      if (given && !sameKind) {
        auto *word = std::get_if<std::string>(&value);
        std::string text = word && *word == "none" ? *word : textOf(value);
        value = Poison{};
        evaluator.reporter.fail(Code::L9, given->location,
                                "constant '" + p.name.text + "' is " + kindOf(fallback) + ", " + text + " is not");
      }
    } catch (const Stop &) {
    }
    scope.bind(p.name.text, value, given ? given->location : p.name.location);
  }
}

} // namespace npar::dsl
