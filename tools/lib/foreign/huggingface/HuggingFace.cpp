// Recognizes the command lines and JSON files of the Trainer, and finds the model that they name.
#include "tools/lib/foreign/huggingface/HuggingFace.h"

#include "dsl/Suggestions.h"
#include "tools/lib/foreign/Accelerate.h"
#include "tools/lib/foreign/Beginning.h"
#include "tools/lib/foreign/DeepSpeed.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

namespace npar::foreign {

const ForeignProgram &deepSpeed(), &accelerate(), &huggingFace();

namespace {

/// Settings whose value may be an object, in JSON.
bool holdsObject(const std::string &key) {
  static const std::set<std::string> keys = {"accelerator_config",  "deepspeed",         "fsdp_config", "gradient_checkpointing_kwargs",
                                             "lr_scheduler_kwargs", "parallelism_config"};
  return keys.count(key) != 0;
}

bool isObject(const std::string &value) { return !value.empty() && value[0] == '{'; }

/// The entries inside of an object in a value; the entry itself if that is no JSON.
std::vector<ForeignEntry> entriesInside(const ForeignEntry &entry) {
  dsl::Sources sources;
  dsl::Diagnostics quiet(sources);
  std::vector<ForeignEntry> inside = readJson(entry.value, sources.add("", entry.value), quiet);
  if (quiet.hasErrors())
    return {entry};
  for (ForeignEntry &one : inside)
    one.key = entry.key + "." + one.key, one.at = entry.at;
  return inside;
}

/// The name that the table has for other names of a setting.
std::string knownName(const std::string &key) {
  static const std::map<std::string, std::string> others = {{"evaluation_strategy", "eval_strategy"},
                                                            {"max_train_steps", "max_steps"},
                                                            {"model_id", "model_name_or_path"},
                                                            {"num_warmup_steps", "warmup_steps"},
                                                            {"per_gpu_eval_batch_size", "per_device_eval_batch_size"},
                                                            {"per_gpu_train_batch_size", "per_device_train_batch_size"},
                                                            {"tp_size", "tensor_parallel_size"}};
  auto known = others.find(key);
  return known == others.end() ? key : known->second;
}

/// Replaces the words that HfArgumentParser takes for true and false, in settings that are one of them.
void readTruth(ForeignEntry &entry) {
  static const std::set<std::string> settings = {"activation_checkpointing",    "adafactor", "bf16",  "disable_embedding_parallelization",
                                                 "disable_sequence_parallel",   "do_train",  "fp16",  "gradient_checkpointing",
                                                 "optimizer_use_fp32_grad_acc", "tf32",      "zero_1"};
  static const std::set<std::string> yes = {"true", "yes", "t", "y", "1"}, no = {"false", "no", "f", "n", "0"};
  const std::string word = lowerCase(entry.value);
  const bool isPlain = word == "true" || word == "false"; // whatever the setting
  if ((isPlain || settings.count(entry.key)) && (yes.count(word) || no.count(word)))
    entry.value = yes.count(word) ? "true" : "false";
}

/// The class that a script trains, by the ending of its name.
std::string headOf(const std::string &script) {
  static const std::vector<std::pair<const char *, const char *>> heads = {{"run_clm", "ForCausalLM"},
                                                                           {"run_fim", "ForCausalLM"},
                                                                           {"run_mlm", "ForMaskedLM"},
                                                                           {"run_glue", "ForSequenceClassification"},
                                                                           {"run_classification", "ForSequenceClassification"},
                                                                           {"run_xnli", "ForSequenceClassification"},
                                                                           {"run_image_classification", "ForImageClassification"},
                                                                           {"run_ner", "ForTokenClassification"},
                                                                           {"run_qa", "ForQuestionAnswering"},
                                                                           {"run_swag", "ForMultipleChoice"},
                                                                           {"run_translation", "ForConditionalGeneration"},
                                                                           {"run_summarization", "ForConditionalGeneration"}};
  for (const auto &[start, head] : heads)
    if (startsWith(script, start))
      return head;
  return "";
}

/// Refuses the beginnings of flags' names, which argparse takes for the whole names. A script of one's own may have such a flag.
void refuseShortNames(Reading &in) {
  const bool isExample = startsWith(scriptOf(in.file), "run_");
  for (const ForeignEntry &entry : in.file.entries) {
    if (entry.key.empty() || entry.key.find('.') != std::string::npos || huggingFaceNames().find(entry.key))
      continue;
    std::vector<std::string> whole;
    for (const auto &[name, known] : huggingFaceNames().all())
      if (startsWith(name, entry.key) && known.part != Part::Run && name.find('.') == std::string::npos)
        whole.push_back("--" + name);
    if (whole.empty())
      continue;
    if (isExample)
      in.error(entry, "'--" + entry.key + "' is short for " + dsl::joined(whole) + ": write the whole name");
    else if (const ForeignEntry *last = in.find(entry.key); last == &entry)
      in.leave(last, "npar does not know this setting; write the whole name if it is short for " + dsl::joined(whole));
  }
}

class HuggingFace : public ForeignProgram {
public:
  const char *key() const override { return "huggingface"; }
  const char *name() const override { return "the Trainer of transformers"; }
  const char *file() const override { return "a command line of Hugging Face's Trainer"; }

  Sign signOf(const std::string &text) const override { return isPythonOfTrainer(text) ? Sign::Whole : Sign::None; }
  bool isShell(const std::string &text) const override {
    if (isPythonOfTrainer(text))
      return false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (size_t first = line.find_first_not_of(" \t\r"); first != std::string::npos && line[first] != '#')
        return line[first] != '{' && !isYamlKey(line);
    return false;
  }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool, dsl::Diagnostics &diagnostics) const override {
    if (isPythonOfTrainer(text))
      return readPythonOfTrainer(text, file, diagnostics);
    return isShell(text) ? readYaml(text, file, diagnostics) : readJson(text, file, diagnostics);
  }
  bool isNested() const override { return true; }
  void complete(std::vector<ForeignEntry> &entries) const override {
    std::vector<ForeignEntry> all;
    for (ForeignEntry &entry : entries) {
      entry.key = knownName(entry.key);
      readTruth(entry);
      const bool isNegated = startsWith(entry.key, "no_") && !nameOf(entry.key) && nameOf(entry.key.substr(3)) && entry.value == "true";
      if (isNegated) // HfArgumentParser adds --no_x for a setting that is on by default
        entry.key.erase(0, 3), entry.value = "false";
      if (holdsObject(entry.key) && isObject(entry.value) && !entry.unknown)
        for (ForeignEntry &inside : entriesInside(entry))
          all.push_back(std::move(inside));
      else
        all.push_back(std::move(entry));
    }
    entries = std::move(all);
  }
  std::string shown(const std::string &key, const std::string &value, bool) const override {
    if (startsWith(key, ofTrainersLaunch))
      return shown(key.substr(std::strlen(ofTrainersLaunch)), value, false);
    for (const char *section : {ofTrainersDeepSpeed, ofTrainersFsdp, ofTrainersAccelerate})
      if (startsWith(key, section))
        return key.substr(std::strlen(section)) + ": " + value;
    return key.empty() ? value : "--" + key + (value == "true" ? "" : " " + value);
  }
  void read(Reading &in, const ForeignHints &hints) const override {
    refuseShortNames(in);
    readTrainersTraining(in);
    readTrainersRequest(in);
    readTrainersStorage(in, hints);
    in.finish();
  }
  const KnownName *nameOf(const std::string &key) const override {
    if (startsWith(key, ofTrainersDeepSpeed))
      return deepSpeedNames().find(key.substr(std::strlen(ofTrainersDeepSpeed)));
    if (startsWith(key, ofTrainersAccelerate))
      return accelerateNames().find(key.substr(std::strlen(ofTrainersAccelerate)));
    if (startsWith(key, ofTrainersLaunch))
      return nameOfLaunchFlag(key.substr(std::strlen(ofTrainersLaunch)));
    return huggingFaceNames().find(key);
  }
  bool isOnlyHere(const std::string &key) const override {
    static const std::set<std::string> names = {"dataloader_drop_last",
                                                "disable_sequence_parallel",
                                                "eval_strategy",
                                                "gradient_checkpointing",
                                                "lr_scheduler_type",
                                                "model_name_or_path",
                                                "num_train_epochs",
                                                "per_device_eval_batch_size",
                                                "per_device_train_batch_size",
                                                "pipeline_parallel_num_microbatches",
                                                "pipeline_parallel_size",
                                                "save_strategy",
                                                "tensor_parallel_size",
                                                "zero_1"};
    return names.count(knownName(key)) != 0;
  }
  std::optional<ForeignReference> referenceOf(const ForeignEntry &entry) const override {
    if (entry.value == "true" || isObject(entry.value))
      return std::nullopt;
    if (entry.key == "deepspeed")
      return ForeignReference{&deepSpeed(), ofTrainersDeepSpeed};
    if (entry.key == "fsdp_config")
      return ForeignReference{&huggingFace(), ofTrainersFsdp};
    if (entry.key == "config_file")
      return ForeignReference{&accelerate(), ofTrainersAccelerate};
    if (entry.key == std::string(ofTrainersLaunch) + "deepspeed_config_file")
      return ForeignReference{&deepSpeed(), std::string(ofTrainersAccelerate) + "deepspeed_config_file."};
    return std::nullopt;
  }
  std::optional<NamedModel> namedModel(const ForeignFile &file) const override {
    const ForeignEntry *model = nullptr;
    for (const char *key : {"model_type", "config_name", "model_name_or_path"}) // the last one that is there counts
      for (const ForeignEntry &entry : file.entries)
        if (entry.key == key)
          model = &entry;
    return model ? std::optional(NamedModel{model, headOf(scriptOf(file))}) : std::nullopt;
  }
};

} // namespace

std::string scriptOf(const ForeignFile &file) {
  for (const ForeignEntry &entry : file.entries)
    if (entry.key.empty()) {
      std::string name = entry.value.substr(std::min(entry.value.rfind('/') + 1, entry.value.size()));
      return name.substr(0, name.rfind('.'));
    }
  return "";
}

const ForeignProgram &huggingFace() {
  static const HuggingFace program;
  return program;
}

} // namespace npar::foreign
