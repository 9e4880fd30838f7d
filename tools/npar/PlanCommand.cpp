// `npar plan`: searches the plan that a machine runs a model best under, and writes it as plan text.
#include "tools/npar/Command.h"

#include "engine/files/AtomicFile.h"
#include "tools/npar/machine/MachineFile.h"
#include "tools/npar/model/Compilation.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/plan/Children.h"
#include "tools/npar/plan/Enumerate.h"
#include "tools/npar/plan/PlanReport.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/trials/PlanCheck.h"
#include "tools/npar/view/View.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

namespace fs = std::filesystem;

struct PlanFlags {
  ModelOptions model;
  std::vector<std::string> fixes;
  int64_t hosts = 1, batch = 0;
  int jobs = 0;
  PlanGoal goal = PlanGoal::Speed;
  std::string output;
  bool json = false;
};

/// A folder in $TMPDIR (else /tmp) for the candidates' texts, gone when the search is over.
class Folder {
public:
  Folder() {
    std::error_code failed;
    std::string pattern = (fs::temp_directory_path(failed) / "npar-plan-XXXXXX").string();
    if (mkdtemp(pattern.data()))
      path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  std::string path; ///< empty when it could not be made
};

Outcome<Choices> fixesOf(const PlanFlags &flags) {
  Choices fixes;
  std::vector<std::string> known;
  for (const auto &[key, value] : choicesOf(Candidate()))
    known.push_back(key);
  for (std::string text : flags.fixes) {
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    auto pair = settingOf(text);
    if (!pair)
      return fail(ExitCode::Usage, "--fix wants 'KEY = VALUE', such as 'mesh.tp = 8', not '" + text + "'");
    if (std::find(known.begin(), known.end(), pair->first) == known.end())
      return fail(ExitCode::Usage, fmt::format("--fix knows no '{}'; it is one of {}", pair->first, fmt::join(known, ", ")));
    fixes.push_back(*pair);
  }
  return fixes;
}

/// Takes `key` out of the settings; of the plan or train block, which are made here.
std::optional<std::string> taken(std::vector<std::string> &settings, const std::string &key) {
  std::optional<std::string> value;
  for (auto one = settings.begin(); one != settings.end();)
    if (auto pair = settingOf(*one); pair && pair->first == key)
      value = pair->second, one = settings.erase(one);
    else
      ++one;
  return value;
}

int64_t sizeOf(const dsl::Model &model, const std::string &name) {
  for (const dsl::Axis &axis : model.axes)
    if (axis.name == name)
      return axis.size;
  int64_t size = 1;
  for (const dsl::ProductAxis &product : model.products)
    if (product.name == name) {
      for (const std::string &factor : product.factors)
        size *= std::max<int64_t>(1, sizeOf(model, factor));
      return size;
    }
  return 0;
}

/// Whether a pattern, in which `*` stands for any text, matches.
bool matches(const char *pattern, const char *text) {
  if (*pattern == '*')
    return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
  return *pattern == *text && (!*pattern || matches(pattern + 1, text + 1));
}

/// What the rules of the train block make of parameters, as rules of a train block: of a repeat's blocks together where they are alike.
std::vector<std::string> rulesOf(const dsl::Program &program) {
  const std::vector<dsl::Parameter> &parameters = program.model.parameters;
  const std::vector<dsl::ParameterTraining> &trained = program.train.parameters;
  auto textOf = [](const dsl::ParameterTraining &one) {
    return one.frozen ? std::string("freeze") : (one.decay ? fmt::format(" decay {}", *one.decay) : "") + (one.rate != 1 ? fmt::format(" lr * {}", one.rate) : "");
  };
  std::vector<std::pair<std::string, std::vector<std::string>>> rules; // with their patterns
  for (size_t i = 0; i < trained.size() && i < parameters.size(); ++i) {
    std::string rule = textOf(trained[i]), pattern;
    if (rule.empty())
      continue;
    for (char letter : parameters[i].path)
      if (!std::isdigit(static_cast<unsigned char>(letter)))
        pattern += letter;
      else if (pattern.empty() || pattern.back() != '*')
        pattern += '*';
    for (size_t k = 0; k < trained.size() && k < parameters.size(); ++k)
      if (textOf(trained[k]) != rule && matches(pattern.c_str(), parameters[k].path.c_str()))
        pattern = parameters[i].path;
    auto known = std::find_if(rules.begin(), rules.end(), [&](const auto &other) { return other.first == rule; });
    if (known == rules.end())
      known = rules.insert(rules.end(), {rule, {}});
    if (std::find(known->second.begin(), known->second.end(), pattern) == known->second.end())
      known->second.push_back(pattern);
  }
  std::vector<std::string> lines;
  for (const auto &[rule, patterns] : rules) {
    std::string quoted = fmt::format("\"{}\"", fmt::join(patterns, "\", \""));
    lines.push_back(rule == "freeze" ? "freeze " + quoted : fmt::format("for {} {{{} }}", quoted, rule));
  }
  return lines;
}

/// Reads model and machine.
Outcome<PlanTask> taskOf(PlanFlags flags) {
  PlanTask task;
  std::optional<std::string> batch = taken(flags.model.settings, "batch"), compute = taken(flags.model.settings, "compute");
  task.compute = compute.value_or("f32");
  if (task.compute != "f32" && task.compute != "bf16" && task.compute != "fp16" && task.compute != "f64")
    return fail(ExitCode::Usage, "'compute' is f32, bf16, fp16 or f64, not '" + task.compute + "'");
  if (batch && flags.batch)
    return fail(ExitCode::Usage, "--batch and --set batch are the same: give one of them");
  task.options = flags.model;
  task.options.plan = "none";
  task.hosts = flags.hosts;
  Outcome<dsl::Machine> machine = readMachineFile(flags.model.machine);
  if (!machine.ok())
    return machine.code();
  task.machine = *machine;
  Outcome<SmallModel> names = smallModel(task.options);
  if (!names.ok())
    return names.code();
  task.names = std::move(*names);
  ModelOptions whole = task.options;
  if (std::optional<std::string> size = flags.batch ? std::to_string(flags.batch) : batch)
    whole.settings.push_back("batch=" + *size);
  Outcome<ElaboratedModel> text = elaborateModel(whole);
  if (!text.ok())
    return text.code();
  const dsl::Program &program = text->program;
  task.train = program.train, task.batch = program.train.batch;
  task.rules = rulesOf(program);
  task.blocks = program.model.blocks;
  for (const dsl::Parameter &parameter : program.model.parameters) {
    int64_t size = 1;
    for (const std::string &axis : parameter.type.axes)
      size *= std::max<int64_t>(1, sizeOf(program.model, axis));
    task.parameters += size;
    for (const dsl::Repeat &repeat : program.model.repeats)
      if (parameter.type.axes.size() > 1 && parameter.path.rfind(repeat.path.substr(0, repeat.path.find('{')), 0) == 0)
        task.blockMatrices += size;
  }
  task.sequence = std::max<int64_t>(1, sizeOf(program.model, "seq"));
  task.width = sizeOf(program.model, "embed"), task.hidden = sizeOf(program.model, "hidden"), task.heads = sizeOf(program.model, "head");
  task.options.plan.reset(), task.options.train.reset();
  // What is of the train block is in the text that is written.
  std::vector<std::string> &settings = task.options.settings;
  std::vector<std::string> given = std::move(settings);
  settings.clear();
  for (const std::string &constant : program.model.constants)
    if (std::optional<std::string> value = taken(given, constant)) // the last one holds
      settings.push_back(constant + "=" + *value);
  fs::path file = task.names.file;
  bool ofLibrary = file.parent_path() == fs::path(standardLibrary()) / "models";
  task.importAs = ofLibrary ? file.stem().string() : fs::absolute(file).string();
  return task;
}

/// Says that nothing fits, and the least change that was found to help.
ExitCode nothingFits(const PlanTask &task, const SearchResult &result, const SearchOptions &options, const std::string &folder) {
  const Tried *least = nullptr;
  std::string refusal;
  for (const Tried &tried : result.tried)
    if (tried.attempt.figures && (!least || tried.attempt.figures->memory < least->attempt.figures->memory))
      least = &tried;
    else if (!tried.attempt.figures && refusal.empty())
      refusal = tried.attempt.reason;
  int64_t ranks = task.hosts * static_cast<int64_t>(task.machine.ranks);
  std::string text = fmt::format("no plan fits {} host{} of '{}'", task.hosts, task.hosts == 1 ? "" : "s", task.machine.name);
  if (result.candidates == 0)
    text = fmt::format("no plan fills {} host{} of '{}': no sizes of a mesh of {} rank{} divide what they would split{}", task.hosts,
                       task.hosts == 1 ? "" : "s", task.machine.name, ranks, ranks == 1 ? "" : "s", options.fixes.empty() ? "" : " and keep what --fix says");
  else if (least)
    text += fmt::format(": the smallest, {}, takes {} of {}", nameOf(least->candidate), humanBytes(static_cast<double>(least->attempt.figures->memory)),
                        humanBytes(least->attempt.figures->room.value_or(0)));
  else if (result.tried.empty())
    text += ": parameters, gradients and optimizer alone are more than their memory";
  else
    text += ": what was tried is refused: " + refusal;
  SearchOptions quick = options;
  quick.goal = PlanGoal::Memory, quick.budget = 6, quick.explaining = 0;
  auto helps = [&](const PlanTask &other, const SearchOptions &how, const std::string &words) -> Outcome<bool> {
    Outcome<SearchResult> found = searchPlans(other, how, folder);
    if (!found.ok())
      return found.code();
    if (found->best >= 0)
      text += fmt::format("\nnpar: it would {}: {}", words, nameOf(found->tried[static_cast<size_t>(found->best)].candidate));
    return found->best >= 0;
  };
  struct Change {
    PlanTask task;
    SearchOptions options;
    std::string words;
  };
  std::vector<std::vector<Change>> changes; // of one kind each, the least first
  for (size_t i = 0; i < options.fixes.size(); ++i) {
    Change without{task, quick, fmt::format("without --fix '{} = {}'", options.fixes[i].first, options.fixes[i].second)};
    without.options.fixes.erase(without.options.fixes.begin() + static_cast<std::ptrdiff_t>(i));
    changes.push_back({without});
  }
  if (int64_t missing = (ranks - task.batch % ranks) % ranks; result.candidates == 0 && missing > 0) {
    Change divided{task, quick, fmt::format("with --batch {}", task.batch + missing)};
    divided.task.batch += missing;
    changes.push_back({divided});
  }
  if (task.compute == "f32" && result.candidates > 0 && dsl::computesIn(task.machine, 1)) {
    Change narrow{task, quick, "with --set compute=bf16"};
    narrow.task.compute = "bf16";
    changes.push_back({narrow});
  }
  std::vector<Change> hosts;
  for (int64_t times : {2, 4, 8, 16}) {
    hosts.push_back({task, quick, fmt::format("on {} hosts", task.hosts * times)});
    hosts.back().task.hosts *= times;
  }
  if (result.candidates > 0)
    changes.push_back(hosts);
  for (const std::vector<Change> &kind : changes)
    for (const Change &change : kind) {
      Outcome<bool> helped = helps(change.task, change.options, change.words);
      if (!helped.ok())
        return helped.code();
      if (*helped)
        break;
    }
  return fail(ExitCode::BadInput, text);
}

ExitCode runPlan(const PlanFlags &flags) {
  if (flags.model.plan)
    return fail(ExitCode::Usage, "plan makes the plan itself: it has no --plan; --fix keeps a part of one");
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage, "'" + flags.model.model + "' is a compiled program: plan needs the model text (.npar)");
  Outcome<Choices> fixes = fixesOf(flags);
  if (!fixes.ok())
    return fixes.code();
  FileClaims files;
  files.read("the model", flags.model.file());
  if (flags.model.machine)
    files.read("the machine", *flags.model.machine);
  files.write("-o", flags.output);
  if (ExitCode code = files.check(); code != ExitCode::Good)
    return code;
  std::error_code ignored; // before minutes are spent
  if (fs::path parent = fs::path(flags.output).parent_path(); !parent.empty() && !fs::is_directory(parent, ignored))
    return fail(ExitCode::BadInput, "cannot write '" + flags.output + "': there is no folder '" + parent.string() + "'");
  Outcome<PlanTask> task = taskOf(flags);
  if (!task.ok())
    return task.code();
  if (flags.goal == PlanGoal::Money && task->machine.price <= 0)
    return fail(ExitCode::BadInput, "--for money needs what a host costs, and machine '" + task->machine.name + "' has no `host { price ... }`");
  if (std::string wrong = wrongFix(*task, *fixes); !wrong.empty())
    return fail(ExitCode::Usage, wrong);
  Folder folder;
  if (folder.path.empty())
    return fail(ExitCode::BadInput, "cannot make a folder for the plans' texts; TMPDIR names another place");
  SearchOptions options;
  options.goal = flags.goal, options.fixes = *fixes, options.jobs = flags.jobs > 0 ? flags.jobs : usualJobs();
  Outcome<SearchResult> result = searchPlans(*task, options, folder.path);
  if (!result.ok())
    return result.code();
  if (result->best < 0)
    return nothingFits(*task, *result, options, folder.path);

  std::string command = fmt::format("npar simulate {} --machine {} --hosts {}", flags.output.empty() ? "FILE" : flags.output,
                                    flags.model.machine ? fs::path(*flags.model.machine).stem().string() : "reference", task->hosts);
  if (task->options.config)
    command += modelFlags(task->options);
  if (fs::path(task->importAs).is_absolute()) { // beside the file that is written, or here
    task->importAs = fs::relative(task->importAs, fs::absolute(flags.output, ignored).parent_path(), ignored).string();
  }
  std::string text = planText(*task, *result, options, command);
  if (!flags.output.empty())
    if (engine::Status status = program::writeFileAtomically(flags.output, text.data(), text.size()); !status.ok())
      return fail(status);
  if (flags.json)
    std::cout << planJson(*task, *result, flags.goal, text).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  else if (flags.output.empty())
    std::cout << text;
  return ExitCode::Good;
}

} // namespace

Command addPlanCommand(CLI::App &driver) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App *app = driver.add_subcommand(
      "plan", "search the plan under which a machine trains a model best\n\n"
              "Example:\n"
              "  npar plan gpt2 --config gpt2-xl --set compute=fp16 --batch 512 --machine dgx-a100 --hosts 1 -o mine.npar\n"
              "\n"
              "Sizes of the mesh, micro-batch, schedule, recomputation, ZeRO, sequence and context parallelism, places and buckets are tried: candidates that cannot fit or\n"
              "win by their bounds are left out, the promising ones compiled and simulated. The best is written as plan text with reasons.\n");
  flags->model.addTo(*app);
  addMachineTo(*app, flags->model);
  app->add_option("--hosts", flags->hosts, "hosts of the machine, which the plan fills (default: 1)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 17));
  app->add_option("--batch", flags->batch, "sequences per training step (default: the train block's)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 31));
  app->add_option("--fix", flags->fixes, "a choice that the plan has to keep, such as 'mesh.tp = 8'; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  static const std::map<std::string, PlanGoal> goals = {{"speed", PlanGoal::Speed}, {"memory", PlanGoal::Memory}, {"money", PlanGoal::Money}};
  app->add_option_function<std::string>(
         "--for", [flags](const std::string &word) { flags->goal = goals.at(word); },
         "what is made small: the time of a step (speed, the default), the memory of the largest rank, or dollars of a step (money)")
      ->type_name("GOAL")
      ->check(CLI::IsMember({"speed", "memory", "money"}));
  app->add_option("--jobs", flags->jobs, "plans compiled at once (default: the machine's cores)")->type_name("N")->check(wholeNumber(1, 4096));
  app->add_option("-o,--output", flags->output, "write the plan to this file (default: standard output)")->type_name("FILE.npar");
  app->add_flag("--json", flags->json, "one JSON object on standard output");
  return {app, [flags] {
            ExitCode code = findMachine(flags->model);
            return code == ExitCode::Good ? runPlan(*flags) : code;
          }};
}

} // namespace npar::driver
