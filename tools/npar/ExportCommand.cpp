// `npar export`: writes the weights of a checkpoint, a file or a folder as a folder for Hugging Face's libraries.
#include "tools/npar/Command.h"

#include "dsl/Families.h"
#include "dsl/Suggestions.h"
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/TensorFiles.h"
#include "engine/checkpoint/Weights.h"
#include "engine/json/Json.h"
#include "engine/program/Elements.h"
#include "engine/program/ModelState.h"
#include "engine/program/Words.h"
#include "engine/safetensors/StoredType.h"
#include "engine/training/TrainedClasses.h"
#include "tools/lib/foreign/ConfigFile.h"
#include "tools/lib/foreign/ImportConfig.h"
#include "tools/lib/models/FolderModel.h"
#include "tools/lib/models/ParameterProgram.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/LoadModel.h"
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
  std::optional<uint64_t> most; ///< largest size of a file, in bytes
  ModelOptions model;           ///< `model` empty: the source's own
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
  std::string config = flags.source + (engine::isCheckpoint(flags.source) ? "/model/config.json" : "/config.json");
  if (std::filesystem::exists(config, error))
    base = config;
  return ExitCode::Good;
}

/// The tensors to write: every parameter under its name in the family.
Outcome<std::vector<engine::TensorToStore>> tensorsOf(const engine::Weights &weights, const program::Program &program,
                                                      const dsl::Model &model, const std::string &type) {
  const engine::FileNames &names = weights.names();
  bool isComplete = std::none_of(names.fresh.begin(), names.fresh.end(), [&](const std::string &parameter) {
    return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const dsl::Node &node) { // a kept parameter may be missing
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
    const std::string stored = isModelCount(*each.parameter) ? engine::countWord : type.empty() ? each.tensor->type : storedType(type);
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

ExitCode write(const ExportFlags &flags, const engine::TensorStore &store, const std::vector<engine::TensorToStore> &tensors,
               const std::string &config) {
  engine::TensorFolder options;
  options.folder = flags.folder;
  options.fileBytes = flags.most.value_or(UINT64_MAX);
  options.texts = {{"config.json", config}};
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
    printJson(std::move(json));
  } else {
    printRemark(fmt::format("wrote '{}': {} tensors, {} bytes, in {} {}", flags.folder, tensors.size(), exported->bytes, exported->files,
                            exported->files == 1 ? "file" : "files"));
  }
  return ExitCode::Good;
}

ExitCode runExport(ExportFlags flags) {
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
  engine::Result<engine::Weights> weights = engine::Weights::match(parameters.root(), *store);
  if (!weights.ok())
    return fail(weights.status());
  if (engine::Status same = weights->checkSame(); !same.ok())
    return fail(same);
  Outcome<std::vector<engine::TensorToStore>> tensors = tensorsOf(*weights, parameters.root(), model->program.model, flags.type);
  if (!tensors.ok())
    return tensors.code();
  engine::Result<foreign::ConfigText> text =
      foreign::configText(*config, torchType(*tensors), base, training::trainedClasses(flags.source).names);
  if (!text.ok())
    return fail(text.status());
  ExitCode code = write(flags, **store, *tensors, text->text);
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
                                      "      --set vocab=256 --output other-model\n");
  app->add_option("SOURCE", flags->source, "checkpoint, Hugging Face folder, or weights (.safetensors)")->required()->check(notEmpty());
  app->add_option("-o,--output", flags->folder, "folder to create; it must be empty or not exist")
      ->type_name("FOLDER")
      ->required()
      ->check(notEmpty());
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
