// `npar plan`: searches for the fastest plan of a model on a machine, and writes it as plan text.
#include "tools/npar/Command.h"

#include "dsl/machine/Hosts.h"
#include "engine/files/AtomicFile.h"
#include "engine/json/Json.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/planner/search/EnumerateCandidates.h"
#include "tools/lib/planner/search/ForeignPlan.h"
#include "tools/lib/planner/search/NothingFits.h"
#include "tools/lib/planner/search/PlanForProgram.h"
#include "tools/lib/planner/search/PlanPage.h"
#include "tools/lib/planner/search/PlanReport.h"
#include "tools/npar/model/ForeignFlags.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/plan/StoppableWork.h"
#include "tools/npar/plan/TaskFlags.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <map>

namespace npar::driver {
namespace {

namespace fs = std::filesystem;

struct PlanFlags {
  TaskFlags task;
  ForeignFlags foreign;
  std::vector<std::string> fixes;
  planner::PlanGoal goal = planner::PlanGoal::Speed;
  std::string output, html;
  const foreign::ForeignProgram *as = nullptr;
  bool json = false;
};

Outcome<planner::Choices> fixesOf(const PlanFlags &flags) {
  planner::Choices fixes;
  std::vector<std::string> known;
  for (const auto &[key, value] : planner::choicesOf(planner::Candidate()))
    known.push_back(key);
  for (std::string text : flags.fixes) {
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    auto pair = models::settingOf(text);
    if (!pair)
      return fail(ExitCode::Usage, "--fix needs 'KEY = VALUE', such as 'mesh.tp = 8', not '" + text + "'");
    if (std::find(known.begin(), known.end(), pair->first) == known.end())
      return fail(ExitCode::Usage, fmt::format("--fix has no choice '{}'; the choices are {}", pair->first, fmt::join(known, ", ")));
    fixes.push_back(*pair);
  }
  return fixes;
}

/// Checks, before a search of minutes, that no output overwrites another file and that the folders of outputs exist.
ExitCode checkFiles(const PlanFlags &flags) {
  FileClaims files;
  files.write("-o", flags.output);
  files.write("--html", flags.html);
  files.read("--from", flags.foreign.from);
  if (flags.foreign.modelConfig)
    files.read("--model-config", *flags.foreign.modelConfig);
  if (ExitCode code = flags.task.check("plan", files); code != ExitCode::Good)
    return code;
  std::error_code ignored;
  for (const std::string &path : {flags.output, flags.html})
    if (fs::path parent = fs::path(path).parent_path(); !parent.empty() && !fs::is_directory(parent, ignored))
      return fail(ExitCode::BadInput, "cannot write '" + path + "': there is no folder '" + parent.string() + "'");
  return ExitCode::Good;
}

ExitCode write(const std::string &path, const std::string &text) {
  return reported(files::writeFileAtomically(path, text.data(), text.size()));
}

/// A search and its result.
struct Searched {
  planner::PlanTask task;
  planner::SearchOptions options;
  planner::SearchResult result;
  std::optional<planner::ForeignPlan> own;
  std::string remarks; ///< about the run of --from and its own plan; empty without --from

  const planner::Tried &best() const { return result.tried[static_cast<size_t>(result.best)]; }
};

Outcome<Searched> search(const PlanFlags &flags, const planner::Choices &fixes, const planner::PlanTask &task,
                         std::optional<foreign::ForeignModel> run) {
  if (ExitCode code = reported(planner::checkWords(task, fixes)); code != ExitCode::Good)
    return code;
  Searched searched{task, {}, {}, {}, ""};
  planner::SearchOptions &options = searched.options;
  options.goal = flags.goal, options.fixes = fixes, options.work = stoppableWork(flags.task.jobs);
  std::optional<planner::ForeignPlan> &own = searched.own;
  if (run) {
    Outcome<planner::ForeignPlan> simulated = reported(planner::foreignPlanOf(flags.foreign, std::move(*run), task, fixes, options.work));
    if (!simulated.ok())
      return simulated.code();
    own = std::move(*simulated);
    planner::barByWords(task, *own);
  }
  planner::SearchOptions from = options;
  if (own && own->fills && own->barred.empty() && own->tried.attempt.figures)
    from.given = &own->tried;
  Outcome<planner::SearchResult> result = reported(planner::searchPlans(task, from));
  if (!result.ok())
    return result.code();
  searched.result = std::move(*result);
  if (own) {
    planner::consider(*own, flags.goal, searched.result);
    searched.remarks = planner::foreignPlanText(*own, searched.result, flags.goal);
  }
  return searched;
}

/// The command that prints the figures of the best plan from its text.
std::string commandFor(const PlanFlags &flags, const Searched &searched) {
  fs::path machine = flags.task.model.machine.value_or("reference");
  if (machine.parent_path() == fs::path(models::standardLibrary()) / "machines")
    machine = machine.stem();
  std::string command = fmt::format("npar simulate {} --machine {} --hosts {}", flags.output.empty() ? "FILE" : flags.output,
                                    machine.string(), searched.best().attempt.figures->hosts);
  if (!searched.best().text.empty())
    return command + modelFlags(searched.own->model.options);
  return command + (searched.task.options.config ? modelFlags(searched.task.options) : "");
}

ExitCode writeBest(const PlanFlags &flags, const Searched &searched) {
  planner::PlanTask task = searched.task;
  std::error_code ignored;
  if (fs::path(task.importAs).is_absolute()) { // relative to the output file, or to the current folder
    fs::path beside = flags.output.empty() ? fs::current_path(ignored) : fs::absolute(flags.output, ignored).parent_path();
    task.importAs = fs::relative(task.importAs, beside, ignored).string();
  }
  std::string text = planner::planText(task, searched.result, searched.options, commandFor(flags, searched), searched.remarks);
  if (!flags.output.empty())
    if (ExitCode code = write(flags.output, text); code != ExitCode::Good)
      return code;
  if (flags.as) {
    const planner::ForeignPlan *own = searched.own ? &*searched.own : nullptr;
    Outcome<std::string> other = reported(planner::bestAs(searched.task, searched.best(), own, flags.output, terminal()));
    if (!other.ok())
      return other.code();
    std::cerr << searched.remarks;
    std::cout << *other;
  } else if (flags.json) {
    OrderedJson json = planner::planJson(task, searched.result, flags.goal, text);
    if (searched.own)
      json["from"] = planner::foreignPlanJson(*searched.own, searched.result, flags.goal);
    printJson(std::move(json));
  } else {
    std::cout << (flags.output.empty() ? text : searched.remarks);
  }
  return ExitCode::Good;
}

ExitCode runPlan(const PlanFlags &flags) {
  if (flags.task.model.plan)
    return fail(ExitCode::Usage, "plan makes its own plan: remove --plan; fix a choice with --fix");
  if (flags.as && flags.json)
    return fail(ExitCode::Usage, "--as and --json both write to standard output: give only one");
  Outcome<planner::Choices> fixes = fixesOf(flags);
  if (!fixes.ok())
    return fixes.code();
  if (ExitCode code = checkFiles(flags); code != ExitCode::Good)
    return code;
  planner::TaskRequest wanted = flags.task;
  std::optional<foreign::ForeignModel> run;
  if (!flags.foreign.from.empty()) {
    Outcome<foreign::ForeignModel> made = reported(planner::runFor(flags.foreign, wanted, terminal()));
    if (!made.ok())
      return made.code();
    if (ExitCode code = flags.foreign.checkPlan(*made); code != ExitCode::Good)
      return code;
    run = std::move(*made);
  }
  if (run && flags.foreign.printPlan) {
    std::cout << run->text;
    return ExitCode::Good;
  }
  Outcome<planner::PlanTask> task = reported(planner::taskOf(wanted, terminal(), run ? &*run : nullptr));
  if (!task.ok())
    return task.code();
  task->as = flags.as;
  planner::adoptTypes(*task);
  if (flags.goal == planner::PlanGoal::Money && task->machine.price <= 0)
    return fail(ExitCode::BadInput, "--goal money needs what a host costs, and machine '" + task->machine.name + "'" +
                                        (dsl::isUneven(task->machine) ? " has a kind of hosts without" : " has no") +
                                        " `host { price ... }`");
  if (std::string wrong = planner::wrongFix(*task, *fixes); !wrong.empty())
    return fail(ExitCode::Usage, wrong);
  Outcome<Searched> searched = search(flags, *fixes, *task, std::move(run));
  if (!searched.ok())
    return searched.code();
  if (!flags.html.empty()) // even if the search found no plan
    if (ExitCode code = write(flags.html, planner::planPage(*task, searched->result)); code != ExitCode::Good)
      return code;
  if (searched->result.best >= 0)
    return writeBest(flags, *searched);
  if (!flags.json)
    (flags.as ? std::cerr : std::cout) << searched->remarks;
  return reported(planner::nothingFits(*task, searched->result, searched->options));
}

} // namespace

Command addPlanCommand(CLI::App &driver) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App *app = driver.add_subcommand(
      "plan",
      "search for the best plan to train a model on a machine\n\n"
      "Example:\n"
      "  npar plan gpt2 --config gpt2-xl --set compute=fp16 --batch 512 --machine dgx-a100 --hosts 1 -o mine.npar\n"
      "  npar plan --from train.sh --machine dgx-a100 --hosts 16 -o mine.npar\n"
      "\n"
      "Tries mesh sizes, micro-batches, schedules, recomputation, ZeRO, sequence and context parallelism, placement and buckets. "
      "Candidates that cannot fit or\n"
      "win are skipped; promising ones are compiled and simulated. The best one is written as a plan with comments.\n"
      "--from takes model, batch, length, types and hosts from a run of another program, and also simulates that run's own plan.\n");
  flags->task.addTo(*app);
  app->get_option("MODEL")->required(false);
  flags->foreign.addTo(*app, /*withWorld=*/true);
  app->option_defaults()->group("Search");
  app->add_option("--fix", flags->fixes, "fix a choice of the plan, such as 'mesh.tp = 8'; can be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  static const std::map<std::string, planner::PlanGoal> goals = {
      {"speed", planner::PlanGoal::Speed}, {"memory", planner::PlanGoal::Memory}, {"money", planner::PlanGoal::Money}};
  app->add_option_function<std::string>(
         "--goal", [flags](const std::string &word) { flags->goal = goals.at(word); },
         "what to minimize: time per step (speed, default), memory of the largest rank, or dollars per step (money)")
      ->type_name("GOAL")
      ->check(CLI::IsMember({"speed", "memory", "money"}));
  app->option_defaults()->group("Reports");
  app->add_option("-o,--output", flags->output, "write the plan to this file (default: standard output)")->type_name("FILE.npar");
  app->add_option("--html", flags->html, "write a self-contained page: time against memory of all plans, each with its text")
      ->type_name("FILE.html");
  addProgramFlag(*app, "--as", flags->as,
                 "search plans that another program supports, and print the best one in its format: " +
                     foreign::programFiles(/*written=*/true),
                 /*written=*/true);
  app->add_flag("--json", flags->json, "print the result as one JSON object");
  return {app, [flags] {
            if (ExitCode code = flags->foreign.check(flags->task.model); code != ExitCode::Good)
              return code;
            ExitCode code = findMachine(flags->task.model);
            return code == ExitCode::Good ? runPlan(*flags) : code;
          }};
}

} // namespace npar::driver
