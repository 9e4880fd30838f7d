// `npar export`: writes the weights of a checkpoint, a file or a folder as a folder for Hugging Face's libraries.
#include "tools/npar/Command.h"

#include "dsl/Families.h"
#include "dsl/Suggestions.h"
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Parts.h"
#include "engine/checkpoint/TensorFiles.h"
#include "engine/checkpoint/Weights.h"
#include "engine/json/Json.h"
#include "engine/program/Elements.h"
#include "engine/program/ModelState.h"
#include "engine/program/Words.h"
#include "engine/safetensors/StoredType.h"
#include "engine/training/FolderFiles.h"
#include "engine/training/TrainedClasses.h"
#include "tools/lib/foreign/ConfigFile.h"
#include "tools/lib/foreign/ImportConfig.h"
#include "tools/lib/foreign/PartNote.h"
#include "tools/lib/models/FolderModel.h"
#include "tools/lib/models/ParameterProgram.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/PartFlag.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"

#include <filesystem>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {
namespace {

struct ExportFlags {
  std::string source, folder, type;
  std::optional<uint64_t> most;   ///< largest size of a file, in bytes
  ModelOptions model;             ///< `model` empty: the source's own
  std::vector<std::string> only;  ///< patterns of the parameters to export; empty: all
  std::vector<std::string> parts; ///< weights of parameters in place of those of the source
  std::string base;               ///< with `only`: the name of the other weights; empty: those with which the training began
  bool json = false;
};

/// The name of a type in safetensors files: "F16" for "f16".
std::string storedType(const std::string &word) {
  std::optional<program::ElementType> type = program::valueOf<program::ElementType>(word);
  return type ? program::rowOf(*type).storedWord : "";
}

/// The types that weights are exported in, by their words.
std::vector<std::string> exportedTypes() {
  std::vector<std::string> words;
  for (const program::ElementRow &row : program::elementRows)
    if (isFloating(row.type) && !isWide(row.type))
      words.emplace_back(row.word);
  return words;
}

/// The name in transformers of the type that all tensors of floats have; empty if their types differ.
std::string torchType(const std::vector<engine::TensorToStore> &tensors) {
  auto allAre = [&](const program::ElementRow &row) {
    return std::all_of(tensors.begin(), tensors.end(),
                       [&](const engine::TensorToStore &each) { return each.type == row.storedWord || each.type == engine::countWord; });
  };
  for (const program::ElementRow &row : program::elementRows)
    if (isFloating(row.type) && allAre(row))
      return row.longWord;
  return "";
}

/// Finds the model that the source folder states, unless --model is given. Sets `base` to the folder's config.json. A checkpoint has the
/// file of the weights with which its training began. Without such a file `base` stays empty.
ExitCode findModel(ExportFlags &flags, std::string &base) {
  std::error_code error;
  if (!flags.model.model.empty())
    return ExitCode::Good;
  if (flags.model.config || !flags.model.settings.empty())
    return fail(ExitCode::Usage, "--config and --set need --model: a folder states its own model");
  if (!std::filesystem::is_directory(flags.source, error))
    return fail(ExitCode::Usage, "'" + flags.source + "' does not name the model of its weights: give --model gpt2 --set ...");
  Outcome<models::FolderModel> model = reported(foreign::modelOfFolder(flags.source, terminal()));
  if (!model.ok())
    return model.code();
  model->select(flags.model);
  const std::string config = flags.source + (engine::isCheckpoint(flags.source) ? "/model/" : "/") + training::configName;
  if (std::filesystem::exists(config, error))
    base = config;
  return ExitCode::Good;
}

/// Returns true if the parameter is to be exported.
bool isWanted(const ExportFlags &flags, const std::string &parameter) {
  return flags.only.empty() || std::any_of(flags.only.begin(), flags.only.end(),
                                           [&](const std::string &pattern) { return engine::matchesPattern(pattern, parameter); });
}

/// Refuses patterns without a parameter.
ExitCode checkOnly(const ExportFlags &flags, const program::Program &program) {
  std::vector<std::string> parameters;
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == program::VariableKind::Parameter)
      parameters.push_back(variable->name()->str());
  for (const std::string &pattern : flags.only)
    if (std::none_of(parameters.begin(), parameters.end(), [&](const std::string &name) { return engine::matchesPattern(pattern, name); }))
      return fail(ExitCode::BadInput, fmt::format("--only '{}' matches no parameter of the model, which has {}{}", pattern,
                                                  parameters.size(), parameters.empty() ? "" : ", the last '" + parameters.back() + "'"));
  return ExitCode::Good;
}

/// The tensors to write: every parameter that is wanted, under its name in the family.
Outcome<std::vector<engine::TensorToStore>> tensorsOf(const engine::Weights &weights, const program::Program &program,
                                                      const dsl::Model &model, const ExportFlags &flags) {
  const engine::FileNames &names = weights.names();
  bool isComplete = std::none_of(names.fresh.begin(), names.fresh.end(), [&](const std::string &parameter) {
    return isWanted(flags, parameter) &&
           std::any_of(model.nodes.begin(), model.nodes.end(), [&](const dsl::Node &node) { // a kept parameter may be missing
             return node.op == "parameter" && std::get<std::string>(node.attributes.at("name")) == parameter;
           });
  });
  if (!isComplete)
    return fail(ExitCode::BadInput,
                fmt::format("{} of {} parameters are not in '{}', such as '{}': they have no values to export", names.fresh.size(),
                            names.fresh.size() + names.loaded.size(), weights.store().description(), names.fresh.front()));
  if (!names.copied.empty())
    return fail(ExitCode::BadInput, fmt::format("'{}' has one tensor for all of '{}' (copy): train first, then export what was trained",
                                                weights.store().description(), names.copied.front()));
  std::vector<engine::TensorToStore> tensors;
  for (const engine::NamedTensor &each : names.loaded) {
    if (!isWanted(flags, each.parameter->name()->str()))
      continue;
    const std::string stored = isModelCount(*each.parameter) ? engine::countWord
                               : flags.type.empty()          ? each.tensor->type
                                                             : storedType(flags.type);
    std::optional<program::IndexedTensor> indexed = program::indexedTensor(*each.parameter);
    if (!indexed)
      tensors.push_back({program::tensorOf(program, each.parameter->name()->str()), each.name, stored});
    else if (each.index >= 0)
      tensors.push_back({program::tensorOf(program, indexed->name(static_cast<uint64_t>(each.index))), each.name, stored});
    for (uint64_t index = 0; indexed && each.index < 0 && index < indexed->count; ++index)
      tensors.push_back({program::tensorOf(program, indexed->name(index)), each.name, stored, indexed, index});
  }
  std::sort(tensors.begin(), tensors.end(), [](const engine::TensorToStore &a, const engine::TensorToStore &b) { return a.name < b.name; });
  return tensors;
}

/// The number of tensors that a whole export has.
size_t countOf(const engine::Weights &weights) {
  size_t count = 0;
  for (const engine::NamedTensor &each : weights.names().loaded) {
    std::optional<program::IndexedTensor> indexed = program::indexedTensor(*each.parameter);
    count += indexed && each.index < 0 ? indexed->count : 1;
  }
  return count;
}

/// Warns if the checkpoint has trained parameters that are left out: base and part together are not the trained model then.
void warnOfTrained(const ExportFlags &flags, const engine::TensorStore &store) {
  auto *checkpoint = dynamic_cast<const engine::CheckpointStore *>(&store);
  std::vector<std::string> trained;
  for (const engine::ManifestTensor &tensor : checkpoint ? checkpoint->manifest().tensors : std::vector<engine::ManifestTensor>())
    if (tensor.kind == "parameter" && tensor.slot != engine::frozenSlot && !isWanted(flags, tensor.name))
      trained.push_back(tensor.name);
  if (!trained.empty())
    printRemark(fmt::format("warning: {} {} trained and not exported, such as '{}': the base with this part is not the trained model",
                            trained.size(), trained.size() == 1 ? "parameter was" : "parameters were", trained.front()));
}

/// The weights with which the training of a checkpoint began; empty if they are not known. Of other sources it is the source.
std::string baseOf(const ExportFlags &flags, const engine::TensorStore &store) {
  if (!flags.base.empty())
    return flags.base;
  auto *checkpoint = dynamic_cast<const engine::CheckpointStore *>(&store);
  return checkpoint ? checkpoint->manifest().call.weights : flags.source;
}

/// The parts that replace some of the base's weights.
std::vector<std::string> partsOfBase(const ExportFlags &flags, const engine::TensorStore &store) {
  auto *checkpoint = dynamic_cast<const engine::CheckpointStore *>(&store);
  std::vector<std::string> parts;
  if (checkpoint && flags.base.empty())
    parts = checkpoint->manifest().call.parts;
  parts.insert(parts.end(), flags.parts.begin(), flags.parts.end());
  return parts;
}

/// The tokenizer's files of the source.
std::vector<std::pair<std::string, std::string>> tokenizerOf(const ExportFlags &flags) {
  std::error_code error;
  training::FolderFiles found =
      std::filesystem::is_directory(flags.source, error) ? training::filesOfFolder(flags.source) : training::FolderFiles();
  for (const std::string &problem : found.problems)
    printRemark("warning: not carried to the folder: " + problem);
  auto isConfig = [](const auto &file) { return file.first == training::configName; };
  found.files.erase(std::remove_if(found.files.begin(), found.files.end(), isConfig), found.files.end());
  return found.files;
}

/// `texts`: what else the folder has.
ExitCode write(const ExportFlags &flags, const engine::TensorStore &store, const std::vector<engine::TensorToStore> &tensors,
               std::vector<std::pair<std::string, std::string>> texts) {
  engine::TensorFolder options;
  options.folder = flags.folder;
  options.fileBytes = flags.most.value_or(UINT64_MAX);
  options.texts = std::move(texts);
  options.written = [](uint64_t) { return !stopSignal(); };
  std::vector<std::string> sources;
  for (const engine::TensorToStore &tensor : tensors)
    sources.push_back(tensor.source);
  stopWhenAsked("after this part of a tensor", flags.json);
  engine::Result<engine::WrittenFolder> exported = [&]() -> engine::Result<engine::WrittenFolder> {
    Waiting waiting("writing '" + flags.folder + "'");
    if (engine::Status status = store.compareHashes(sources); !status.ok())
      return status;
    return engine::writeTensorFolder(store, tensors, options);
  }();
  if (!exported.ok() && stopSignal())
    return fail(ExitCode::RunFailed, fmt::format("stopped by {}; '{}' is not written", stopSignal(), flags.folder));
  if (!exported.ok())
    return fail(exported.status());
  if (flags.json) {
    OrderedJson json;
    json["folder"] = flags.folder, json["files"] = exported->files, json["tensors"] = tensors.size(), json["bytes"] = exported->bytes;
    json["other_files"] = OrderedJson::array();
    for (const auto &[name, content] : options.texts)
      json["other_files"].push_back(name);
    printJson(std::move(json));
  } else {
    printRemark(fmt::format("wrote '{}': {} tensors, {} bytes, in {} {}", flags.folder, tensors.size(), exported->bytes, exported->files,
                            exported->files == 1 ? "file" : "files"));
  }
  return ExitCode::Good;
}

ExitCode runExport(ExportFlags flags) {
  if (!flags.base.empty() && flags.only.empty())
    return fail(ExitCode::Usage, "--base needs --only PATTERN");
  if (engine::isCheckpoint(flags.source)) { // fixed here, because a running training may write a newer one
    engine::Result<std::shared_ptr<const engine::CheckpointStore>> checkpoint = engine::openCheckpointStore(flags.source);
    if (!checkpoint.ok())
      return fail(checkpoint.status());
    flags.source = (*checkpoint)->folder();
  }
  engine::Result<std::shared_ptr<const engine::TensorStore>> store = engine::openTensorStore(flags.source);
  if (!store.ok())
    return fail(store.status());
  std::string base;
  if (ExitCode code = findModel(flags, base); code != ExitCode::Good)
    return code;
  Outcome<ElaboratedModel> model = reported(models::elaborateParameters(flags.model, terminal()));
  if (!model.ok())
    return model.code();
  Outcome<dsl::FrontendOptions> options = reported(flags.model.frontend());
  if (!options.ok())
    return options.code();
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::FamilyConfig> config = dsl::configOf(*options, model->program.model.name, sources, diagnostics);
  diagnostics.print(std::cerr);
  if (diagnostics.hasErrors())
    return ExitCode::BadInput;
  if (!config)
    return fail(ExitCode::BadInput, "model '" + model->program.model.name +
                                        "' has no family, which defines its config.json: "
                                        "declare one in its text, `family \"gpt2\" for " +
                                        model->program.model.name + " { ... }`");
  models::ParameterProgram parameters(model->program.model);
  if (ExitCode code = checkOnly(flags, parameters.root()); code != ExitCode::Good)
    return code;
  engine::Result<std::shared_ptr<const engine::TensorStore>> whole = engine::withParts(parameters.root(), *store, flags.parts);
  if (!whole.ok())
    return fail(whole.status());
  engine::Result<engine::Weights> weights = engine::Weights::match(parameters.root(), *whole);
  if (!weights.ok())
    return fail(weights.status());
  if (engine::Status same = weights->checkSame(); !same.ok())
    return fail(same);
  Outcome<std::vector<engine::TensorToStore>> tensors = tensorsOf(*weights, parameters.root(), model->program.model, flags);
  if (!tensors.ok())
    return tensors.code();
  if (const size_t all = countOf(*weights); tensors->size() < all) {
    warnOfTrained(flags, **store);
    foreign::PartNote note{
        model->program.model.name, config->family, baseOf(flags, **store), partsOfBase(flags, **store), flags.only, tensors->size(), all};
    return write(flags, weights->store(), *tensors, {{foreign::PartNote::fileName, note.text()}});
  }
  engine::Result<foreign::ConfigText> text =
      foreign::configText(*config, torchType(*tensors), base, training::trainedClasses(flags.source).names);
  if (!text.ok())
    return fail(text.status());
  std::vector<std::pair<std::string, std::string>> texts = tokenizerOf(flags);
  texts.insert(texts.begin(), {training::configName, text->text});
  ExitCode code = write(flags, weights->store(), *tensors, std::move(texts));
  if (code == ExitCode::Good && !text->unknown.empty())
    printRemark(fmt::format("'{}' does not say {}: write them into '{}/config.json' for programs that need them", flags.source,
                            dsl::joined(text->unknown, "and"), flags.folder));
  return code;
}

} // namespace

Command addExportCommand(CLI::App &driver) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App *app =
      driver.add_subcommand("export", "write weights as a Hugging Face folder\n\n"
                                      "Examples:\n"
                                      "  npar export run --output my-model --type bf16 --shard-size 5GB\n"
                                      "  npar export weights.safetensors --model gpt2 --set width=128 --set heads=4 --set depth=4 \\\n"
                                      "      --set vocab=256 --output other-model\n"
                                      "  npar export run --only 'h.1.*' --output part\n"
                                      "  npar export run --weights-part part --output whole\n");
  app->add_option("SOURCE", flags->source, "checkpoint, Hugging Face folder, or weights (.safetensors)")->required()->check(notEmpty());
  app->add_option("-o,--output", flags->folder, "folder to create; it must be empty or not exist")
      ->type_name("FOLDER")
      ->required()
      ->check(notEmpty());
  app->add_option("--only", flags->only,
                  "export only the parameters that match, such as an adapter's; * matches any text; can be repeated. The folder states "
                  "the base to which they belong")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->check(notEmpty());
  app->add_option("--base", flags->base, "with --only: name of the base (default: the weights with which the training began)")
      ->type_name("NAME")
      ->check(notEmpty());
  addPart(*app, flags->parts);
  app->add_option("--type", flags->type, "type of all tensors: " + dsl::joined(exportedTypes()) + " (default: the stored type)")
      ->type_name("TYPE")
      ->check(CLI::IsMember(exportedTypes()));
  app->add_option("--shard-size", flags->most, "maximum bytes of tensors per file, such as 5GB (default: one file)")
      ->type_name("AMOUNT")
      ->transform(byteSize());
  app->add_option("--model", flags->model.model, "model of the weights (default: as stored in the folder)")
      ->type_name("MODEL")
      ->check(notEmpty());
  app->add_option("--config", flags->model.config, "with --model: named configuration of its constants")
      ->type_name("NAME")
      ->check(notEmpty());
  app->add_option("--set", flags->model.settings, "with --model: its constants, such as depth=4")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--json", flags->json, "print folder, files, tensors and bytes as one JSON object");
  return {app, [flags] { return runExport(*flags); }};
}

} // namespace npar::driver
