// Finds the model and weights that the flags name, compiles or loads the program, and loads the weights into a session.
#include "tools/npar/use/TrainedModel.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Weights.h"
#include "engine/program/Kept.h"
#include "engine/program/Words.h"
#include "engine/runtime/Arenas.h"
#include "tools/lib/foreign/ImportConfig.h"
#include "tools/npar/checkpoint/AgreedCheckpoint.h"
#include "tools/npar/checkpoint/OtherSettings.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/MemoryCheck.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

/// The command that runs programs of a kind.
const char *commandOf(program::ProgramKind kind) {
  switch (kind) {
  case program::ProgramKind::Training:
    return "run";
  case program::ProgramKind::Evaluation:
    return "eval";
  case program::ProgramKind::Generation:
    return "generate";
  }
  return "unknown";
}

bool isFolder(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

} // namespace

void UseFlags::addModelTo(CLI::App &app) {
  app.option_defaults()->group("Model and plan");
  addModelFlags(app, model);
  app.get_option("MODEL")->description(
      "checkpoint or Hugging Face folder; with --weights: a model as for npar train, or a program compiled for "
      "this command (.npx)");
  app.get_option("--plan")->description("plan to use (default: none, one rank); the results are the same up to rounding beyond rounding");
  app.add_option("--weights", weights, "the model's weights: a .safetensors file, a Hugging Face folder, or a checkpoint")
      ->type_name("FILE|FOLDER")
      ->check(notEmpty());
}

void UseFlags::addRunTo(CLI::App &app) {
  app.option_defaults()->group("Reports");
  app.add_flag("--quiet", quiet, "print errors only");
  app.add_flag("--json", json, "print the result as one JSON object");
  app.option_defaults()->group("Devices");
  app.add_option("--threads", threads, "number of worker threads (default: the machine's cores)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  device.addTo(app);
  app.option_defaults()->group("Processes");
  job.addTo(app);
  app.add_option("--timeout", timeout, "seconds without progress before the command fails")
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
}

ExitCode settleFolders(Job &job, UseFlags &flags) {
  for (std::string *path : {&flags.model.model, &flags.weights}) {
    Outcome<std::string> settled = settleCheckpoint(job, *path);
    if (!settled.ok())
      return settled.code();
    if (*settled != *path)
      flags.checkpoints.push_back(*settled);
    *path = *settled;
  }
  return ExitCode::Good;
}

ExitCode explained(ExitCode code, const UseFlags &flags) {
  for (const std::string &folder : code == ExitCode::BadInput ? flags.checkpoints : std::vector<std::string>())
    if (!engine::hasManifest(folder))
      printRemark("help: '" + folder + "' was removed by a running training after this command found it: try again");
  return code;
}

Outcome<NamedModel> nameModel(const UseFlags &flags, program::ProgramKind kind, FileClaims &files) {
  NamedModel named{flags.model, flags.weights, "", kind};
  named.options.kind = kind;
  if (isFolder(flags.model.model)) {
    Outcome<models::FolderModel> folder = reported(foreign::modelOfFolder(flags.model.model, terminal()));
    if (!folder.ok())
      return folder.code();
    named.folder = folder->folder;
    named.options.model = folder->model;
    named.options.settings.insert(named.options.settings.begin(), folder->settings.begin(), folder->settings.end());
    if (!folder->config.empty() && !named.options.config)
      named.options.config = folder->config;
    if (named.weights.empty())
      named.weights = named.folder;
  } else if (named.weights.empty()) {
    return fail(ExitCode::Usage, "no weights: give the folder of a trained model, or a model and --weights FILE.safetensors");
  }
  bool compiled = named.options.isCompiled();
  if (compiled)
    named.options.kind = program::ProgramKind::Training; // it has no say any more, as no flag has
  else if (!named.options.plan)
    named.options.plan = "none";
  files.read("the model", named.options.file());
  files.read("--weights", named.weights);
  return named;
}

ExitCode shareNames(Job &job, NamedModel &named) {
  Outcome<std::string> names = job.decide([&]() -> Outcome<std::string> {
    std::string weights = named.weights;
    if (engine::isCheckpoint(weights)) {
      engine::Result<std::shared_ptr<const engine::CheckpointStore>> store = engine::openCheckpointStore(weights);
      if (!store.ok())
        return fail(store.status());
      weights = (*store)->folder();
    }
    std::vector<uint8_t> bytes = nlohmann::json::to_cbor({named.options.model, named.folder, weights}); // paths may be no UTF-8
    return std::string(bytes.begin(), bytes.end());
  });
  if (!names.ok())
    return names.code();
  nlohmann::json json = nlohmann::json::from_cbor(*names, /*strict=*/true, /*allow_exceptions=*/false);
  if (!json.is_array() || json.size() != 3)
    return fail(ExitCode::Internal, "internal error: process 0 names no weights");
  named.options.model = json[0].get<std::string>(), named.folder = json[1].get<std::string>(), named.weights = json[2].get<std::string>();
  return ExitCode::Good;
}

/// A compiled program, of the kind that is wanted.
Outcome<ProgramPointer> loadOf(const NamedModel &named, FileClaims &files) {
  Outcome<ProgramPointer> loaded = loadModel(named.options, files);
  if (!loaded.ok())
    return loaded.code();
  if (program::ProgramKind kind = (*loaded)->root().kind(); kind != named.kind)
    return fail(ExitCode::BadInput,
                fmt::format("'{}' is compiled for {} (npar {}), not for npar {}\nnpar: help: npar compile ... --for {}",
                            named.options.model, program::wordOf(kind), commandOf(kind), commandOf(named.kind), commandOf(named.kind)));
  return loaded;
}

/// The shapes of the parameters, in order.
static std::vector<std::vector<int64_t>> shapesOf(const dsl::Model &model) {
  std::map<std::string, int64_t> sizes;
  for (const dsl::Axis &axis : model.axes)
    sizes[axis.name] = axis.size;
  std::vector<std::vector<int64_t>> shapes;
  for (const dsl::Parameter &parameter : model.parameters) {
    std::vector<int64_t> &shape = shapes.emplace_back();
    for (const std::string &axis : parameter.type.axes)
      shape.push_back(sizes[axis]);
  }
  return shapes;
}

/// Returns true if two models differ in nothing except the sizes of their axes.
static bool sameNodes(const dsl::Model &a, const dsl::Model &b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), [](const dsl::Node &a, const dsl::Node &b) {
    return a.op == b.op && a.operands == b.operands && a.type == b.type && a.attributes == b.attributes;
  });
}

/// The model with these settings, where the text takes them; says nothing.
static std::optional<dsl::Model> modelWith(const ModelOptions &options, const SettingsList &settings) {
  Outcome<dsl::FrontendOptions> frontend = reported(options.frontend());
  if (!frontend.ok())
    return std::nullopt;
  frontend->settings.insert(frontend->settings.end(), settings.begin(), settings.end());
  dsl::Sources sources;
  std::optional<dsl::Program> program = models::elaborateQuietly(*frontend, sources);
  return program ? std::optional(std::move(program->model)) : std::nullopt;
}

/// Elaborates the text with the settings that `choose` adds. Drops a length that the text refuses, that changes shapes of parameters, or
/// with which it computes something else, such as a position counted from the end.
static ExitCode elaborateFor(const NamedModel &named, FileClaims &files, const SettingsList &probe, const ChooseSettings &choose,
                             std::optional<ElaboratedModel> &result) {
  Outcome<ElaboratedModel> text = elaborateModel(named.options, probe);
  if (!text.ok())
    return text.code();
  Outcome<SettingsList> settings = choose(text->program);
  if (!settings.ok())
    return settings.code();
  const dsl::Model &own = text->program.model;
  if (auto length = std::find_if(settings->begin(), settings->end(), [](const auto &setting) { return setting.first == "length"; });
      length != settings->end())
    if (std::optional<dsl::Model> shorter = modelWith(named.options, *settings);
        !shorter || shapesOf(*shorter) != shapesOf(own) || !sameNodes(*shorter, own))
      settings->erase(length);
  text = elaborateModel(named.options, *settings, /*withWarnings=*/false);
  if (!text.ok())
    return text.code();
  files.read(text->compilation->texts(), text->program.data);
  result = std::move(*text);
  return files.check();
}

/// Number of prompt positions per step: a power of two that gives matrix products enough work.
static int64_t chunkFor(int64_t tokens, int64_t length) {
  int64_t chunk = 16;
  while (chunk < std::min<int64_t>(tokens, 128))
    chunk *= 2;
  return std::min(chunk, length);
}

/// Length of the sequence: the size of the second axis of the losses per position; 0 if they have no such axis.
static int64_t lengthOf(const dsl::Model &model) {
  const dsl::Node &loss = model.mainLoss();
  for (const dsl::Axis &axis : model.axes)
    if (loss.type.axes.size() == 2 && axis.name == loss.type.axes[1])
      return axis.size;
  return 0;
}

static bool keeps(const program::Program &program) {
  return std::any_of(program.variables()->begin(), program.variables()->end(),
                     [](const program::Variable *variable) { return variable->name()->str() == program::keptPositions; });
}

Outcome<GeneratingPrograms> compileToGenerate(const NamedModel &named, FileClaims &files, const SettingsList &probe,
                                              const ChooseSettings &choose, const int64_t &promptTokens, bool quiet) {
  GeneratingPrograms programs;
  std::optional<ElaboratedModel> text;
  if (named.options.isCompiled()) {
    Outcome<ProgramPointer> loaded = loadOf(named, files);
    if (!loaded.ok())
      return loaded.code();
    programs.whole = std::move(*loaded);
    return programs;
  }
  if (ExitCode code = elaborateFor(named, files, probe, choose, text); code != ExitCode::Good)
    return code;
  Outcome<ProgramPointer> step = reported(text->compilation->compileToGenerate(text->program, 1, !quiet, named.options.targets));
  if (!step.ok())
    return step.code();
  if (!keeps((*step)->root())) {
    programs.whole = std::move(*step);
    return programs;
  }
  programs.step = std::move(*step);
  programs.length = lengthOf(text->program.model);
  if (promptTokens < 2 || programs.length < 2)
    return programs;
  Outcome<ProgramPointer> prompt =
      reported(text->compilation->compileToGenerate(text->program, chunkFor(promptTokens, programs.length), false, named.options.targets));
  if (!prompt.ok())
    return prompt.code();
  // If the pipeline is split differently for many positions, the prompt is computed one position at a time.
  if (engine::whyApart((*prompt)->root(), programs.step->root()).empty())
    programs.prompt = std::move(*prompt);
  return programs;
}

/// Opens the weights. Reports weights of another model, or too little memory, before any memory is allocated.
static Outcome<engine::Weights> openWeights(const Job &job, const ProgramPointer &program, const NamedModel &named, const UseFlags &flags,
                                            int threads) {
  engine::Result<std::shared_ptr<const engine::TensorStore>> store = engine::openTensorStore(named.weights);
  if (!store.ok())
    return fail(store.status());
  engine::Result<engine::Weights> weights = engine::Weights::match(program->root(), *store);
  if (!weights.ok())
    return fail(weights.status());
  if (size_t fresh = weights->names().fresh.size(); fresh > 0)
    return fail(ExitCode::BadInput,
                fmt::format("'{}' lacks {} of the model's parameters (fresh), so they are untrained", named.weights, fresh));
  if (ExitCode code = checkMemory({program}, job.crew(threads, flags.device.backend), /*saved=*/false, flags.quiet,
                                  "take less at once (--set batch=1, a smaller length), or a plan of several ranks", /*snapshot=*/0,
                                  job.ranksOnHost(program->root()));
      code != ExitCode::Good)
    return code;
  return std::move(*weights);
}

static engine::Status load(const engine::Weights &weights, engine::Session &session) {
  engine::Status status = weights.checkValues();
  return status.ok() ? weights.apply(session) : status;
}

static engine::SessionOptions optionsFor(const program::Program &program, const UseFlags &flags, int threads) {
  engine::SessionOptions options;
  options.threads = threads;
  flags.device.applyTo(options);
  options.seed = program.seed();
  options.timeoutSeconds = flags.timeout;
  options.initialise = false; // all parameters are loaded
  return options;
}

Outcome<TrainedModel> startWith(Job &job, ProgramPointer program, const NamedModel &named, const UseFlags &flags,
                                const std::vector<ProgramPointer> &guests) {
  Outcome<int> threads = job.threads(flags.threads);
  if (ExitCode code = job.agree(threads.code()); code != ExitCode::Good)
    return code;
  Outcome<engine::Weights> weights = openWeights(job, program, named, flags, *threads);
  if (ExitCode code = job.agree(weights.code()); code != ExitCode::Good)
    return code;
  Waiting waiting("setting up");
  engine::SessionOptions options = optionsFor(program->root(), flags, *threads);
  options.guests = guests;
  options.onPhase = [&](const std::string &name) { waiting.phase(name); };
  if (!flags.quiet)
    options.onRemark = printRemark;
  engine::Result<std::unique_ptr<engine::Session>> session = job.createSession(program, options);
  if (!session.ok())
    return fail(session.status());
  waiting.phase("loading the weights");
  if (std::string others = otherSettings(named.weights, named.options); named.folder.empty() && !others.empty() && !flags.quiet)
    printRemark(fmt::format("warning: the settings differ from those when '{}' was written: {}", named.weights, others));
  engine::Status loaded = load(*weights, **session);
  if (ExitCode code = job.agree(loaded.ok() ? ExitCode::Good : fail(loaded)); code != ExitCode::Good)
    return code;
  return TrainedModel{std::move(program), std::move(*session)};
}

Outcome<TrainedModel> startIn(Job &job, const TrainedModel &host, ProgramPointer program, const UseFlags &flags) {
  Outcome<int> threads = job.threads(flags.threads);
  if (!threads.ok())
    return threads.code();
  engine::SessionOptions options = optionsFor(program->root(), flags, *threads);
  options.host = host.session.get();
  engine::Result<std::unique_ptr<engine::Session>> session = job.createSession(program, options);
  if (!session.ok())
    return fail(session.status());
  return TrainedModel{std::move(program), std::move(*session)};
}

} // namespace npar::driver
