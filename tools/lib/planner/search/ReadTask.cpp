// Reads model and machine of a search, and what of the train block goes into the texts of its plans.
#include "tools/lib/planner/search/ReadTask.h"

#include "dsl/AxisSize.h"
#include "dsl/elaborate/NamePattern.h"
#include "dsl/machine/Hosts.h"
#include "engine/status/OptionNames.h"
#include "tools/lib/foreign/ForeignModel.h"
#include "tools/lib/models/Compilation.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/search/BlockProducts.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace npar::planner {

using engine::Status;

namespace {

namespace fs = std::filesystem;

bool isSame(const dsl::ParameterTraining &one, const dsl::ParameterTraining &other) {
  return one.frozen == other.frozen && (one.frozen || (one.decay == other.decay && one.rate == other.rate));
}

/// The effect of the train block's rules on parameters, as rules of a train block; equal blocks of a repeat share a rule.
std::vector<TrainingRule> rulesOf(const dsl::Program &program) {
  const std::vector<dsl::Parameter> &parameters = program.model.parameters;
  const std::vector<dsl::ParameterTraining> &trained = program.train.parameters;
  std::vector<TrainingRule> rules;
  for (size_t i = 0; i < trained.size() && i < parameters.size(); ++i) {
    if (isSame(trained[i], {}))
      continue;
    std::string pattern;
    for (char letter : parameters[i].path)
      if (!std::isdigit(static_cast<unsigned char>(letter)))
        pattern += letter;
      else if (pattern.empty() || pattern.back() != '*')
        pattern += '*';
    for (size_t k = 0; k < trained.size() && k < parameters.size(); ++k)
      if (!isSame(trained[k], trained[i]) && dsl::matchesName(pattern, parameters[k].path))
        pattern = parameters[i].path;
    auto known = std::find_if(rules.begin(), rules.end(), [&](const TrainingRule &rule) { return isSame(rule.training, trained[i]); });
    if (known == rules.end())
      known = rules.insert(rules.end(), {trained[i], {}});
    if (std::find(known->patterns.begin(), known->patterns.end(), pattern) == known->patterns.end())
      known->patterns.push_back(pattern);
  }
  return rules;
}

/// Whether a text is that of the file with its path. A host can give another one that name.
bool isOnDisk(const dsl::SourceProvider &texts, const std::string &path) {
  std::string unreadable;
  const dsl::DiskTexts disk;
  return disk.has(path) && disk.read(path, SIZE_MAX, unreadable) == texts.read(path, SIZE_MAX, unreadable);
}

/// Keeps the text of a model that is in memory, which no file can import.
void takeModelText(PlanTask &task, const std::vector<std::pair<std::string, std::string>> &constants) {
  std::string unreadable;
  if (std::optional<std::string> text = task.options.texts->read(task.names.file, SIZE_MAX, unreadable))
    task.modelText = dsl::modelText(*text, task.names.name, constants);
}

} // namespace

engine::Result<PlanTask> taskOf(const TaskRequest &given, engine::Observer &observer, const foreign::ForeignModel *run) {
  TaskRequest request = given;
  PlanTask task;
  std::optional<std::string> batch = models::takeSetting(request.model.settings, "batch"),
                             compute = models::takeSetting(request.model.settings, "compute"),
                             gradients = models::takeSetting(request.model.settings, "gradients");
  TRY(task.types, PlanTypes::of(compute.value_or(""), gradients.value_or(""), ""));
  if (batch && request.batch)
    return Status::usage(nameOf(engine::Option::Batch) + " and " + nameOf(engine::Option::Setting, "batch") +
                         " mean the same: give only one");
  if (run) { // which has what --set says of batch and type
    request.model.model = run->import, request.model.settings = run->options.settings;
    for (const foreign::Constant &one : run->run.constants)
      request.model.settings.push_back(one.name + "=" + one.value);
    TRY(task.types, PlanTypes::of(run->run.precision, run->run.gradients, run->run.reduce));
  }
  task.options = request.model;
  task.options.plan = "none";
  TRY(task.machine, readMachineFile(request.model.machine, observer, request.model.texts));
  TRY_STATUS(limitDevices(task.machine, request.model.devices));
  int64_t there = dsl::hostCount(task.machine);
  if (there > 0 && request.hosts > 0 && request.hosts != there)
    return Status::usage(fmt::format("{}: machine '{}' has {} hosts, and a plan fills all of them: remove it",
                                     nameOf(engine::Option::Hosts, std::to_string(request.hosts)), task.machine.name, there));
  task.hosts = request.hosts > 0 ? request.hosts : std::max<int64_t>(1, there);
  // Any number of ranks can share a processor's cores: one for each fills it.
  if (task.machine.kind == dsl::MachineKind::Processor && task.hosts == 1)
    task.machine.ranks = std::min(task.machine.ranks, std::max(1.0, std::floor(task.machine.cores)));
  TRY(task.names, verify::outlineModel(task.options, observer));
  ModelOptions whole = run ? run->options : task.options;
  whole.plan = "none";
  if (std::optional<std::string> size = request.batch ? std::to_string(request.batch) : batch; size && !run)
    whole.settings.push_back("batch=" + *size);
  TRY(models::ElaboratedModel text, models::elaborateModel(whole, observer));
  const dsl::Program &program = text.program;
  task.train = program.train, task.batch = program.train.batch;
  task.rules = rulesOf(program);
  task.blocks = program.model.blocks;
  for (const dsl::Parameter &parameter : program.model.parameters) {
    int64_t size = 1;
    for (const std::string &axis : parameter.type.axes)
      size *= std::max<int64_t>(1, dsl::axisSize(program.model, axis));
    task.parameters += size;
    for (const dsl::Repeat &repeat : program.model.repeats)
      if (parameter.type.axes.size() > 1 && parameter.path.rfind(repeat.path.substr(0, repeat.path.find('{')), 0) == 0)
        task.blockMatrices += size;
  }
  task.blockProducts = multiplyAddsOfBlocks(program), task.ownAxes = ownAxesOf(program);
  task.experts = routedExpertsOf(program), task.countsPositions = countsPositions(program);
  task.sequence = std::max<int64_t>(1, dsl::axisSize(program.model, "seq"));
  task.width = dsl::axisSize(program.model, "embed"), task.hidden = dsl::axisSize(program.model, "hidden"),
  task.heads = dsl::axisSize(program.model, "head");
  task.vocabulary = dsl::axisSize(program.model, "vocab");
  task.options.plan.reset(), task.options.train.reset();
  // Settings of the train block are part of the text that is written.
  std::vector<std::string> &settings = task.options.settings;
  std::vector<std::string> set = std::move(settings);
  settings.clear();
  if (request.alone || !task.options.config) {
    for (const auto &[constant, value] : program.model.chosenConstants)
      settings.push_back(constant + "=" + value);
    task.options.config.reset();
  } else {
    for (const std::string &constant : program.model.constants)
      if (std::optional<std::string> value = models::takeSetting(set, constant)) // the last one holds
        settings.push_back(constant + "=" + *value);
  }
  fs::path file = task.names.file;
  bool ofLibrary = file.parent_path() == fs::path(models::standardLibrary()) / "models";
  bool inMemory = task.options.texts && !isOnDisk(*task.options.texts, task.names.file);
  task.importAs = ofLibrary ? file.stem().string() : inMemory ? file.string() : fs::absolute(file).string();
  TRY_STATUS(models::checkImportable(task.importAs));
  if (request.alone && inMemory)
    takeModelText(task, program.model.chosenConstants);
  return task;
}

} // namespace npar::planner
