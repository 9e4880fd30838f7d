// Finds the model, reads the run, writes the plan into a file of its own for the front end.
#include "tools/npar/foreign/ForeignModel.h"

#include "tools/npar/foreign/PlanText.h"
#include "tools/npar/huggingface/ImportConfig.h"
#include "tools/npar/model/Compilation.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace npar::driver {

namespace fs = std::filesystem;

/// A file in a folder of $TMPDIR (else /tmp), both gone with it.
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

/// Elaborates the model without a plan, for its axes and repeats.
Outcome<dsl::Program> bareModel(const std::string &model, const std::vector<std::string> &settings) {
  ModelOptions options;
  options.model = model, options.plan = "none", options.settings = settings;
  Outcome<ElaboratedModel> elaborated = elaborateModel(options, {}, /*withWarnings=*/false);
  if (!elaborated.ok())
    return elaborated.code();
  return std::move(elaborated->program);
}

ForeignTarget targetOf(const dsl::Program &program, const std::string &import) {
  ForeignTarget target{import, program.model.name, {}, {}};
  for (const dsl::Axis &axis : program.model.axes)
    target.axes.push_back(axis.name);
  for (const dsl::ProductAxis &axis : program.model.products)
    target.axes.push_back(axis.name);
  for (const dsl::Repeat &repeat : program.model.repeats)
    target.chains.push_back(repeat.label);
  return target;
}

std::vector<std::string> joined(const std::vector<std::pair<std::string, std::string>> &constants) {
  std::vector<std::string> settings;
  for (const auto &[key, value] : constants)
    settings.push_back(key + "=" + value);
  return settings;
}

/// Settings of the model's constants go into the text that is made; those of train block and plan stay.
ExitCode takeConstants(std::vector<std::string> &settings, const std::vector<std::string> &constants, ForeignRun &run) {
  std::vector<std::string> others;
  for (const std::string &setting : settings) {
    std::optional<std::pair<std::string, std::string>> pair = settingOf(setting);
    if (!pair)
      return fail(ExitCode::Usage, "--set needs KEY=VALUE, such as 'batch=16', not '" + setting + "'");
    if (std::find(constants.begin(), constants.end(), pair->first) == constants.end()) {
      others.push_back(setting);
      continue;
    }
    auto known = std::find_if(run.constants.begin(), run.constants.end(), [&](const auto &one) { return one.first == pair->first; });
    if (known == run.constants.end())
      run.constants.push_back(*pair);
    else
      known->second = pair->second;
  }
  settings = std::move(others);
  return ExitCode::Good;
}

/// Types that the file says for gradients and sums stay where they are of a 16-bit type.
void compute(ForeignRun &run, const std::string &type) {
  run.precision = type;
  if (type != "bf16" && type != "fp16")
    run.gradients.clear(), run.reduce.clear();
}

} // namespace

void ForeignFlags::addTo(CLI::App &app) {
  app.option_defaults()->group("Run of another program");
  app.add_option("--from", from,
                 "run of another program, instead of MODEL: Megatron-LM flags (a script, or the arguments that it prints), a "
                 "torchtitan TOML, "
                 "DeepSpeed JSON, or Accelerate YAML")
      ->type_name("FILE")
      ->check(notEmpty());
  app.add_option("--model-config", modelConfig, "with --from: config.json of the model, or its folder")
      ->type_name("PATH")
      ->check(notEmpty());
  app.add_option_function<std::string>(
         "--from-format",
         [this](const std::string &word) {
           for (const auto &[name, value] : foreignFormats())
             if (name == word)
               format = value;
         },
         "with --from: the program that the file belongs to (default: recognized by its contents)")
      ->type_name("PROGRAM")
      ->check(CLI::IsMember({"megatron", "torchtitan", "deepspeed", "accelerate"}));
  app.add_option("--world", world, "with --from: number of devices (default: as in the file, or all of --hosts)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 20));
  app.add_flag("--print-plan", printPlan, "with --from: print the resulting plan, and stop");
}

ExitCode ForeignFlags::check(const ModelOptions &model) const {
  if (from.empty()) {
    const char *flag = modelConfig ? "--model-config" : format ? "--from-format" : world ? "--world" : printPlan ? "--print-plan" : nullptr;
    if (flag)
      return fail(ExitCode::Usage, std::string(flag) + " needs --from FILE");
    return model.model.empty() ? fail(ExitCode::Usage, "give MODEL or --from FILE") : ExitCode::Good;
  }
  if (!model.model.empty())
    return fail(ExitCode::Usage, "--from provides model and plan; remove '" + model.model + "' out");
  const char *flag = model.plan ? "--plan" : model.train ? "--train" : model.config ? "--config" : nullptr;
  return flag ? fail(ExitCode::Usage, std::string(flag) + " cannot be used with --from, which makes its own model and plan")
              : ExitCode::Good;
}

Outcome<ForeignModel> modelOfRun(const ForeignFlags &flags, const ModelOptions &given, int64_t devices, const RunChanges &changes) {
  ForeignHints hints;
  hints.world = flags.world > 0 ? flags.world : devices, hints.batch = changes.batch;
  for (const std::string &setting : given.settings)
    hints.vocabularyIsKnown = hints.vocabularyIsKnown || setting.rfind("vocab=", 0) == 0;
  std::string import;
  std::vector<std::pair<std::string, std::string>> constants;
  std::optional<dsl::Program> program;
  if (flags.modelConfig) {
    std::error_code ignored;
    bool isFolder = fs::is_directory(*flags.modelConfig, ignored);
    Outcome<ImportedConfig> config = importConfig(isFolder ? *flags.modelConfig + "/config.json" : *flags.modelConfig);
    if (!config.ok())
      return config.code();
    import = config->model, constants = config->settings;
    Outcome<dsl::Program> bare = bareModel(import, joined(constants));
    if (!bare.ok()) {
      printRemark("this follows from the values of configuration '" + *flags.modelConfig + "'");
      return bare.code();
    }
    program = std::move(*bare);
    hints.modelIsKnown = true, hints.layers = program->model.blocks;
  }

  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<ForeignRun> run;
  if (std::optional<ForeignFile> file = readForeignFile(flags.from, flags.format, sources, diagnostics))
    run = understand(*file, hints, diagnostics);
  diagnostics.print(std::cerr);
  if (!run || diagnostics.hasErrors())
    return ExitCode::BadInput;
  if (!changes.compute.empty())
    compute(*run, changes.compute);

  if (program) {
    run->constants = constants;
    const std::vector<std::string> &known = program->model.constants;
    if (run->length > 0 && std::find(known.begin(), known.end(), "length") != known.end())
      run->constants.emplace_back("length", std::to_string(run->length));
  } else {
    import = run->model;
    std::vector<std::string> settings = joined(run->constants);
    Outcome<dsl::Program> bare = bareModel(import, settings);
    if (!bare.ok()) {
      printRemark("this follows from the sizes that '" + flags.from + "' gives");
      return bare.code();
    }
    program = std::move(*bare);
  }
  run->layers = program->model.blocks;
  ModelOptions options = given;
  if (ExitCode code = takeConstants(options.settings, program->model.constants, *run); code != ExitCode::Good)
    return code;
  if (flags.printPlan && !options.settings.empty())
    return fail(ExitCode::Usage, "--print-plan prints the file's own plan; '--set " + options.settings.front() +
                                     "' changes the plan: change it in the printed text instead");
  if (run->pp > 1 && program->model.repeats.empty())
    return fail(ExitCode::BadInput, "model '" + program->model.name + "' has no repeated blocks for a pipeline");

  ForeignModel model;
  model.import = import;
  model.text = planText(*run, targetOf(*program, import), flags.from);
  const char *name = planNameOf(run->format);
  model.file = std::make_shared<TemporaryText>(name, model.text);
  if (!model.file->why.empty())
    return fail(ExitCode::RunFailed, model.file->why);
  model.options = std::move(options);
  model.options.model = model.file->path;
  model.options.plan = model.options.train = model.options.config = name;
  model.run = std::move(*run);
  return model;
}

} // namespace npar::driver
