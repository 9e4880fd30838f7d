// Finds the model, reads the run, and writes the plan to a temporary file for the front end.
#include "tools/lib/foreign/ForeignModel.h"

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/ImportConfig.h"
#include "tools/lib/foreign/ModelFacts.h"
#include "tools/lib/foreign/NamedConfig.h"
#include "tools/lib/foreign/PlanText.h"
#include "tools/lib/models/Compilation.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace npar::foreign {

using engine::Code;
using engine::Result;
using engine::Status;
using models::ModelOptions;

namespace fs = std::filesystem;

/// A file in a folder of its own under $TMPDIR (else /tmp); the destructor removes both.
class TemporaryText {
public:
  TemporaryText(const std::string &name, const std::string &text) {
    const char *variable = std::getenv("TMPDIR");
    std::string pattern = std::string(variable && *variable ? variable : "/tmp") + "/npar-from-XXXXXX";
    if (!mkdtemp(pattern.data())) {
      why = "cannot make '" + pattern + "': " + std::strerror(errno);
      return;
    }
    folder = pattern;
    path = folder + "/" + name + ".npar";
    std::ofstream file(path, std::ios::binary);
    if (!(file << text).flush())
      why = "cannot write '" + path + "' (is its disk full? set TMPDIR to another folder)";
  }
  ~TemporaryText() {
    std::error_code ignored;
    if (!folder.empty())
      fs::remove_all(folder, ignored);
  }
  TemporaryText(const TemporaryText &) = delete;
  TemporaryText &operator=(const TemporaryText &) = delete;
  std::string folder, path, why; ///< `why`: what went wrong, else empty
};

namespace {

/// Elaborates the model without a plan, for its axes and repeats. Errors are followed by the line `because`.
Result<dsl::Program> bareModel(const std::string &model, const std::vector<std::string> &settings, const std::string &because) {
  ModelOptions options;
  options.model = model, options.plan = "none", options.settings = settings;
  engine::Observer nobody;
  Result<models::ElaboratedModel> elaborated = models::elaborateModel(options, nobody);
  if (elaborated.ok())
    return std::move(elaborated->program);
  const Status &status = elaborated.status();
  return status.isLocated() ? Status::located(status.code(), status.message() + "npar: " + because + "\n")
                            : Status(status.code(), status.message() + "; " + because);
}

ForeignTarget targetOf(const dsl::Program &program, const std::string &import) {
  ForeignTarget target{import, program.model.name, {}, {}, {}, vectorPatterns(program.model)};
  for (const dsl::Axis &axis : program.model.axes)
    target.axes.push_back(axis.name);
  for (const dsl::ProductAxis &axis : program.model.products)
    target.axes.push_back(axis.name);
  for (const dsl::Repeat &repeat : program.model.repeats)
    target.chains.push_back(repeat.label), target.blocks.push_back(repeat.path);
  return target;
}

std::vector<std::string> joined(const std::vector<Constant> &constants) {
  std::vector<std::string> settings;
  for (const Constant &one : constants)
    settings.push_back(one.name + "=" + one.value);
  return settings;
}

/// Moves settings of the model's constants into `run`, which puts them into the generated text. Settings of train block and plan stay.
Status takeConstants(std::vector<std::string> &settings, const std::vector<std::string> &constants, ForeignRun &run) {
  std::vector<std::string> others;
  for (const std::string &setting : settings) {
    std::optional<std::pair<std::string, std::string>> pair = models::settingOf(setting);
    if (!pair)
      return Status::usage("--set needs KEY=VALUE, such as 'batch=16', not '" + setting + "'");
    if (std::find(constants.begin(), constants.end(), pair->first) == constants.end()) {
      others.push_back(setting);
      continue;
    }
    auto known = std::find_if(run.constants.begin(), run.constants.end(), [&](const Constant &one) { return one.name == pair->first; });
    if (known == run.constants.end())
      run.constants.push_back({pair->first, pair->second});
    else
      *known = {pair->first, pair->second};
    run.modelSettings.clear(); // they no longer describe the model
  }
  settings = std::move(others);
  return {};
}

/// The model of a run whose file does not have its sizes.
struct KnownModel {
  ImportedConfig config;
  std::string because;              ///< what its sizes come from, for errors
  std::vector<std::string> assumed; ///< sentences
};

/// The folder that a file names, as it is there or next to the file, if it has a config.json; empty if not.
std::string folderWithConfig(const std::string &name, const std::string &file) {
  std::error_code ignored;
  for (const fs::path &folder : {fs::path(name), fs::path(file).parent_path() / name})
    if (fs::is_regular_file(folder / "config.json", ignored))
      return folder.string();
  return "";
}

/// The model of --model-config, else the one that the file names. Nothing if neither is there; errors about a name are in `diagnostics`.
Result<std::optional<KnownModel>> knownModel(const ForeignRequest &request, const std::optional<NamedModel> &named,
                                             engine::Observer &observer, dsl::Diagnostics &diagnostics) {
  ImportOptions options;
  options.head = named ? named->head : "";
  if (request.modelConfig) {
    std::error_code ignored;
    bool isFolder = fs::is_directory(*request.modelConfig, ignored);
    TRY(ImportedConfig config, importConfig(isFolder ? *request.modelConfig + "/config.json" : *request.modelConfig, observer, options));
    return std::optional(KnownModel{std::move(config), "this follows from the values of configuration '" + *request.modelConfig + "'", {}});
  }
  if (!named)
    return std::optional<KnownModel>();
  const ForeignEntry &entry = *named->entry;
  const std::string shown = entry.value.substr(0, 60);
  if (entry.unknown) {
    dsl::Diagnostic &error = diagnostics.error(dsl::Code::F2, entry.at, "the name of the model depends on " + entry.unknown->why);
    error.help(entry.at,
               entry.unknown->help.empty() ? "give --model-config PATH: its config.json, or the folder with it" : entry.unknown->help);
    return std::optional<KnownModel>();
  }
  if (std::string folder = folderWithConfig(entry.value, request.from); !folder.empty()) {
    TRY(ImportedConfig config, importConfig(folder + "/config.json", observer, options));
    return std::optional(KnownModel{std::move(config), "this follows from the values of configuration '" + folder + "'", {}});
  }
  TRY(std::optional<NamedConfig> config, namedConfig(entry.value, options.head));
  if (config)
    return std::optional(KnownModel{std::move(config->imported),
                                    "this follows from configuration '" + config->config + "'",
                                    {"'" + shown + "' has the sizes of configuration '" + config->config +
                                     "' of the standard library; --model-config PATH replaces it"}});
  diagnostics
      .error(dsl::Code::F2, entry.at,
             "there is no folder '" + shown + "' with a config.json, and no configuration of the standard library has this name")
      .help(entry.at, "give --model-config PATH: its config.json, or the folder with it");
  return std::optional<KnownModel>();
}

/// The length of the table of positions; 0: the model has none.
int64_t positionsOf(const std::vector<Constant> &constants) {
  int64_t positions = 0;
  for (const Constant &one : constants)
    if (one.name == "rope" && one.value == "dynamic")
      return 0;
    else if (one.name == "context")
      positions = std::strtoll(one.value.c_str(), nullptr, 10);
  return positions;
}

/// Reports sequences that are longer than the positions of the model from --model-config.
void checkLength(const ForeignRun &run, const std::vector<Constant> &constants, const std::vector<std::string> &settings,
                 dsl::Diagnostics &diagnostics) {
  for (const std::string &setting : settings)
    if (setting.rfind("context=", 0) == 0 || setting.rfind("length=", 0) == 0)
      return;
  const int64_t positions = positionsOf(constants);
  if (positions == 0 || run.length <= positions)
    return;
  diagnostics
      .error(dsl::Code::F2, run.placeOf("length"),
             "sequences of " + std::to_string(run.length) + " tokens are longer than the " + std::to_string(positions) +
                 " positions of the model's configuration (max_position_embeddings)")
      .help(run.placeOf("length"), "--set context=" + std::to_string(run.length) + " gives the model as many positions");
}

/// Configurations state a dropout, or their program has a default, that `npar import` leaves to the user.
void rememberDropout(ForeignRun &run, const dsl::Model &model, const std::vector<std::string> &settings) {
  auto sets = [](const std::string &setting) { return setting.rfind("dropout=", 0) == 0; };
  auto has = [](const Constant &one) { return one.name == "dropout"; };
  if (std::find(model.constants.begin(), model.constants.end(), "dropout") != model.constants.end() &&
      std::none_of(run.constants.begin(), run.constants.end(), has) && std::none_of(settings.begin(), settings.end(), sets))
    run.assumed.push_back("nothing is dropped out: a dropout of the model's configuration is not read; --set dropout=0.1 trains with it");
}

/// Experts get their rows in the order of positions, so their sequence cannot be in zigzag order.
void orderForExperts(ForeignRun &run, const dsl::Model &model) {
  if (run.cp == 1 || run.ring != "ring(zigzag)" || !hasOp(model, "dispatch"))
    return;
  run.ring = "ring";
  run.assumed.push_back("each rank of context parallelism has consecutive positions, as npar's experts need them, and not a piece of both "
                        "ends of the sequence: results are the same, but the later ranks have more work in attention");
}

/// Overrides the precision. The file's types of gradients and their sums are kept only for a 16-bit precision.
void compute(ForeignRun &run, const std::string &type) {
  run.precision = type;
  if (type != "bf16" && type != "fp16")
    run.gradients.clear(), run.reduce.clear();
}

} // namespace

Result<ForeignModel> modelOfRun(const ForeignRequest &request, const ModelOptions &given, int64_t devices, engine::Observer &observer,
                                const RunChanges &changes) {
  ForeignHints hints;
  hints.world = request.world > 0 ? request.world : devices, hints.batch = changes.batch;
  hints.otherwise = request.otherwise;
  for (const std::string &setting : given.settings)
    hints.vocabularyIsKnown = hints.vocabularyIsKnown || setting.rfind("vocab=", 0) == 0;
  std::string import;
  std::vector<Constant> constants;
  std::optional<dsl::Program> program;
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<ForeignRun> run;
  std::optional<ForeignFile> file = readForeignFile(request.from, request.program, sources, diagnostics, request.environment);
  if (file) {
    TRY(std::optional<KnownModel> known, knownModel(request, file->program->namedModel(*file), observer, diagnostics));
    if (known) {
      import = known->config.model;
      for (const auto &[name, value] : known->config.settings)
        constants.push_back({name, value});
      TRY(program, bareModel(import, joined(constants), known->because));
      hints.modelIsKnown = true, hints.layers = program->model.blocks, hints.positions = positionsOf(constants);
      file->assumed.insert(file->assumed.end(), known->assumed.begin(), known->assumed.end());
    }
    if (!diagnostics.hasErrors())
      run = understand(*file, hints, diagnostics);
  }
  if (run && program)
    checkLength(*run, constants, given.settings, diagnostics);
  std::ostringstream report;
  diagnostics.print(report);
  if (!run || diagnostics.hasErrors())
    return Status::located(Code::BadInput, report.str());
  if (!diagnostics.all().empty())
    observer.warn(report.str());
  if (!changes.compute.empty())
    compute(*run, changes.compute);

  if (program) {
    run->constants = constants;
    const std::vector<std::string> &known = program->model.constants;
    if (run->length > 0 && std::find(known.begin(), known.end(), "length") != known.end())
      run->constants.push_back({"length", std::to_string(run->length)});
    rememberDropout(*run, program->model, given.settings);
  } else {
    import = run->model;
    std::vector<std::string> settings = joined(run->constants);
    TRY(program, bareModel(import, settings, "this follows from the sizes that '" + request.from + "' gives"));
  }
  run->layers = program->model.blocks;
  orderForExperts(*run, program->model);
  ModelOptions options = given;
  TRY_STATUS(takeConstants(options.settings, program->model.constants, *run));
  if (run->pp > 1 && program->model.repeats.empty())
    return Status::badInput("model '" + program->model.name + "' has no repeated blocks for a pipeline");

  ForeignModel model;
  model.import = import;
  model.text = planText(*run, targetOf(*program, import), request.from);
  const char *name = run->program->key();
  model.file = std::make_shared<TemporaryText>(name, model.text);
  if (!model.file->why.empty())
    return Status::runFailed(model.file->why);
  model.options = std::move(options);
  model.options.model = run->textPath = model.file->path;
  model.options.plan = model.options.train = model.options.config = name;
  run->isOwnPlan = model.options.settings.empty() && changes.batch == 0 && changes.compute.empty();
  model.run = std::move(*run);
  return model;
}

} // namespace npar::foreign
