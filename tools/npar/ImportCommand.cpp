// `npar import`: finds the model and settings that compute the same as a Hugging Face folder or config.json.
#include "tools/npar/Command.h"

#include "dsl/ParameterCounts.h"
#include "engine/checkpoint/HuggingFaceStore.h"
#include "engine/checkpoint/Weights.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/InsideFolder.h"
#include "engine/files/PendingFile.h"
#include "engine/json/Json.h"
#include "engine/readable/Printable.h"
#include "engine/safetensors/StoredType.h"
#include "tools/lib/foreign/ImportConfig.h"
#include "tools/lib/models/ParameterProgram.h"
#include "tools/npar/import/PrintModels.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <set>

namespace npar::driver {

using readable::printableName;

namespace {

namespace fs = std::filesystem;

struct ImportFlags {
  std::string source, output;
  foreign::ImportOptions options;
  std::vector<std::string> settings; ///< `key=value`, which replace those of the configuration
  bool list = false, json = false;
};

/// Facts about the weights that belong to a configuration.
struct FoundWeights {
  std::string path;
  size_t tensors = 0, ignored = 0, fresh = 0;
  uint64_t bytes = 0;
  std::set<std::string> types;
  std::string leftOut; ///< one of those that are ignored
};

/// The source folder if it contains weights, else empty.
std::string weightsBeside(const ImportFlags &flags) {
  std::error_code error;
  return fs::is_directory(flags.source, error) && engine::hasWeights(flags.source) ? flags.source : "";
}

Outcome<FoundWeights> checkWeights(const std::string &path, const dsl::Model &model) {
  engine::Result<std::shared_ptr<const engine::TensorStore>> store = engine::openFolderStore(path);
  if (!store.ok())
    return fail(store.status());
  models::ParameterProgram parameters(model);
  engine::Result<engine::Weights> weights = engine::Weights::match(parameters.root(), *store);
  if (!weights.ok())
    return fail(weights.status());
  if (engine::Status same = weights->checkSame(); !same.ok())
    return fail(same);
  const engine::FileNames &names = weights->names();
  FoundWeights found{path, names.loaded.size() + names.same.size(), 0, names.fresh.size(), 0, {}, ""};
  std::set<std::string> taken;
  for (const auto *list : {&names.loaded, &names.same})
    for (const engine::NamedTensor &each : *list)
      taken.insert(each.name);
  for (const auto &[name, tensor] : (*store)->tensors())
    if (!taken.count(name) && found.ignored++ == 0)
      found.leftOut = name;
  for (const engine::NamedTensor &each : names.loaded) {
    uint64_t elements = 1;
    for (int64_t size : each.tensor->shape)
      elements *= static_cast<uint64_t>(size);
    found.bytes += elements * (engine::findStoredType(each.tensor->type)->bits / 8);
    found.types.insert((*store)->tensors().at(each.name).type); // counts are I64 there, and F64 for the model
  }
  return found;
}

/// The word, quoted for the shell if necessary.
std::string quoted(const std::string &word) {
  bool plain = !word.empty();
  for (unsigned char c : word)
    plain = plain && (std::isalnum(c) || c == '/' || c == '.' || c == '_' || c == '-' || c == '=' || c == '+');
  if (plain)
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string commandLine(const foreign::ImportedConfig &config, const std::string &weights) {
  std::string line = "npar train " + quoted(config.model);
  for (const auto &[key, value] : config.settings)
    line += " --set " + quoted(key + "=" + value);
  return line + (weights.empty() ? "" : " --weights " + quoted(weights));
}

/// A text that imports the model and has these values as a named configuration.
std::string callText(const ImportFlags &flags, const foreign::ImportedConfig &config) {
  fs::path source = fs::path(flags.source).lexically_normal();
  const std::string &given = flags.options.text;
  fs::path text = given.empty() ? fs::path(config.model) : fs::absolute(given).lexically_normal();
  std::string values;
  for (const auto &[key, value] : config.settings)
    values += (values.empty() ? "" : ", ") + key + " = " + value;
  return fmt::format("# {} as npar calls it: npar train THIS.npar --config imported\nimport \"{}\"\n\nconfig \"imported\" for {}({})\n",
                     printableName(source.string()), text.string(), config.name, values);
}

OrderedJson settingJson(const std::string &text) {
  OrderedJson value = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
  return text == "none" ? OrderedJson() : value.is_discarded() ? OrderedJson(text) : value;
}

void printAsJson(const foreign::ImportedConfig &config, const dsl::ParameterCounts &parameters,
                 const std::optional<FoundWeights> &weights) {
  OrderedJson json, settings = OrderedJson::object();
  for (const auto &[key, value] : config.settings)
    settings[key] = settingJson(value);
  json["model"] = config.model;
  json["family"] = config.family;
  json["settings"] = settings;
  json["parameters"] = parameters.all;
  if (parameters.active != parameters.all)
    json["active_parameters"] = parameters.active, json["table_parameters"] = parameters.tables;
  if (parameters.states)
    json["state_elements"] = parameters.states;
  json["skipped"] = config.skipped;
  json["weights"] = nullptr;
  if (weights)
    json["weights"] = {{"path", weights->path},   {"tensors", weights->tensors}, {"ignored", weights->ignored},
                       {"fresh", weights->fresh}, {"bytes", weights->bytes},     {"types", weights->types}};
  json["command"] = commandLine(config, weights ? weights->path : "");
  printJson(std::move(json));
}

void printText(const foreign::ImportedConfig &config, const dsl::ParameterCounts &parameters, const std::optional<FoundWeights> &weights) {
  std::string types;
  if (weights)
    for (const std::string &type : weights->types)
      types += (types.empty() ? "" : ", ") + type;
  std::string active = parameters.active == parameters.all ? "" : fmt::format(", of which a position meets {}", parameters.active);
  std::string states = parameters.states ? fmt::format("; states have {} more elements", parameters.states) : "";
  printRemark(fmt::format("family \"{}\", model '{}', {} parameters{}{}", config.family, config.name, parameters.all, active, states));
  if (weights)
    printRemark(fmt::format("{} tensors of '{}' fit, {} bytes of {}{}", weights->tensors, weights->path, weights->bytes, types,
                            weights->ignored ? fmt::format("; left out {} that the model has no parameters for, such as {}",
                                                           weights->ignored, files::quotedName(weights->leftOut))
                                             : ""));
  std::cout << commandLine(config, weights ? weights->path : "") << '\n';
}

ExitCode writeCall(const ImportFlags &flags, const foreign::ImportedConfig &config) {
  FileClaims files;
  files.write("-o", flags.output);
  files.read("the configuration", flags.source);
  files.read("--model", flags.options.text);
  if (ExitCode code = reported(files.check()); code != ExitCode::Good)
    return code;
  if (const std::string &text = flags.options.text; !text.empty())
    if (ExitCode code = reported(models::checkImportable(fs::absolute(text).lexically_normal().string())); code != ExitCode::Good)
      return code;
  std::string text = callText(flags, config);
  if (engine::Status status = files::writeFileAtomically(flags.output, text.data(), text.size()); !status.ok())
    return fail(status);
  printRemark(fmt::format("wrote '{}'", flags.output));
  return ExitCode::Good;
}

/// Replaces settings of a configuration by those of the command line.
ExitCode replaceSettings(const std::vector<std::string> &given, foreign::ImportedConfig &config) {
  for (const std::string &setting : given) {
    const auto pair = models::settingOf(setting);
    if (!pair)
      return fail(ExitCode::Usage, "--set needs KEY=VALUE, such as 'task=classify', not '" + setting + "'");
    auto known = std::find_if(config.settings.begin(), config.settings.end(), [&](const auto &each) { return each.first == pair->first; });
    if (known == config.settings.end())
      config.settings.push_back(*pair);
    else
      known->second = pair->second;
  }
  return ExitCode::Good;
}

ExitCode runImport(const ImportFlags &flags) {
  if (flags.list && !(flags.output.empty() && flags.options.text.empty() && flags.options.ignored.empty() && flags.settings.empty()))
    return fail(ExitCode::Usage, "--list reads no configuration: leave out -o, --model, --set and --ignore-key");
  if (flags.list)
    return printModels(flags.source, flags.json);
  if (flags.source.empty())
    return fail(ExitCode::Usage, "SOURCE is required: a folder or a config.json; --list prints the models that npar knows");
  std::error_code error;
  bool folder = fs::is_directory(flags.source, error);
  Outcome<foreign::ImportedConfig> config = reported(folder ? foreign::importFolder(flags.source, terminal(), flags.options)
                                                            : foreign::importConfig(flags.source, terminal(), flags.options));
  if (!config.ok())
    return config.code();
  if (ExitCode code = replaceSettings(flags.settings, *config); code != ExitCode::Good)
    return code;
  ModelOptions model;
  model.model = config->model;
  Outcome<ElaboratedModel> elaborated = reported(models::elaborateParameters(model, terminal(), config->settings));
  if (!elaborated.ok())
    printRemark("this follows from the values of '" + flags.source + "'" + (flags.settings.empty() ? "" : " and --set"));
  if (!elaborated.ok())
    return elaborated.code();
  std::optional<FoundWeights> weights;
  if (std::string path = weightsBeside(flags); !path.empty()) {
    Outcome<FoundWeights> found = checkWeights(path, elaborated->program.model);
    if (!found.ok())
      return found.code();
    weights = *found;
  }
  if (!flags.output.empty())
    if (ExitCode code = writeCall(flags, *config); code != ExitCode::Good)
      return code;
  const dsl::ParameterCounts parameters = dsl::countParameters(elaborated->program.model);
  if (flags.json)
    printAsJson(*config, parameters, weights);
  else
    printText(*config, parameters, weights);
  return ExitCode::Good;
}

} // namespace

Command addImportCommand(CLI::App &driver) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App *app = driver.add_subcommand(
      "import", "find the model and settings of a Hugging Face folder\n\n"
                "Examples:\n"
                "  npar import gpt2-folder              # checks its weights, prints the command that continues training\n"
                "  npar import config.json --json\n"
                "  npar import --list                   # the models that npar knows, with their parameters\n"
                "  npar import --list bert\n");
  app->add_option("SOURCE", flags->source,
                  "folder with config.json and weights, or a config.json alone; with --list a model, family or "
                  "configuration, or a model file")
      ->check(notEmpty());
  app->add_flag("--list", flags->list, "list the models and configurations of the standard library with their parameters");
  app->add_option("--model", flags->options.text, "model file that declares the family (default: the models of the standard library)")
      ->type_name("FILE.npar")
      ->check(notEmpty());
  app->add_option("--ignore-key", flags->options.ignored, "leave a key of the configuration out, with everything in it (may be repeated)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--set", flags->settings,
                  "replace a setting of the configuration, such as task=classify for weights of a masked language model (may be repeated)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("-o,--output", flags->output,
                  "write a model file that imports the model and has its values as configuration \"imported\"")
      ->type_name("FILE.npar")
      ->check(notEmpty());
  app->add_flag("--json", flags->json, "print model, settings, parameters, weights and command as one JSON object");
  return {app, [flags] { return runImport(*flags); }};
}

} // namespace npar::driver
