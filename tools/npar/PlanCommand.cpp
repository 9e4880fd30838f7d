// `npar plan`: searches the plan that a machine runs a model best under, and writes it as plan text.
#include "tools/npar/Command.h"

#include "engine/files/AtomicFile.h"
#include "tools/npar/machine/MachineFile.h"
#include "tools/npar/plan/Children.h"
#include "tools/npar/plan/Enumerate.h"
#include "tools/npar/plan/NothingFits.h"
#include "tools/npar/plan/PlanPage.h"
#include "tools/npar/plan/PlanReport.h"
#include "tools/npar/plan/Task.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/trials/PlanCheck.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

namespace fs = std::filesystem;

struct PlanFlags {
  TaskFlags task;
  std::vector<std::string> fixes;
  PlanGoal goal = PlanGoal::Speed;
  std::string output, html;
  bool json = false;
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

ExitCode runPlan(const PlanFlags &flags) {
  if (flags.task.model.plan)
    return fail(ExitCode::Usage, "plan makes the plan itself: it has no --plan; --fix keeps a part of one");
  Outcome<Choices> fixes = fixesOf(flags);
  if (!fixes.ok())
    return fixes.code();
  FileClaims files;
  files.write("-o", flags.output);
  files.write("--html", flags.html);
  if (ExitCode code = flags.task.check("plan", files); code != ExitCode::Good)
    return code;
  std::error_code ignored; // before minutes are spent
  for (const std::string &path : {flags.output, flags.html})
    if (fs::path parent = fs::path(path).parent_path(); !parent.empty() && !fs::is_directory(parent, ignored))
      return fail(ExitCode::BadInput, "cannot write '" + path + "': there is no folder '" + parent.string() + "'");
  Outcome<PlanTask> task = taskOf(flags.task);
  if (!task.ok())
    return task.code();
  if (flags.goal == PlanGoal::Money && task->machine.price <= 0)
    return fail(ExitCode::BadInput,
                "--for money needs what a host costs, and machine '" + task->machine.name + "' has no `host { price ... }`");
  if (std::string wrong = wrongFix(*task, *fixes); !wrong.empty())
    return fail(ExitCode::Usage, wrong);
  SearchFolder folder;
  if (ExitCode code = folder.check(); code != ExitCode::Good)
    return code;
  SearchOptions options;
  options.goal = flags.goal, options.fixes = *fixes, options.jobs = flags.task.jobs > 0 ? flags.task.jobs : usualJobs();
  Outcome<SearchResult> result = searchPlans(*task, options, folder.path);
  if (!result.ok())
    return result.code();
  if (!flags.html.empty()) { // of a search that found nothing too
    std::string page = planPage(*task, *result);
    if (engine::Status status = program::writeFileAtomically(flags.html, page.data(), page.size()); !status.ok())
      return fail(status);
  }
  if (result->best < 0)
    return nothingFits(*task, *result, options, folder.path);

  std::string command =
      fmt::format("npar simulate {} --machine {} --hosts {}", flags.output.empty() ? "FILE" : flags.output,
                  flags.task.model.machine ? fs::path(*flags.task.model.machine).stem().string() : "reference", task->hosts);
  if (task->options.config)
    command += modelFlags(task->options);
  if (fs::path(task->importAs).is_absolute()) { // beside the file that is written, or here
    fs::path beside = flags.output.empty() ? fs::current_path(ignored) : fs::absolute(flags.output, ignored).parent_path();
    task->importAs = fs::relative(task->importAs, beside, ignored).string();
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
      "plan",
      "search the plan under which a machine trains a model best\n\n"
      "Example:\n"
      "  npar plan gpt2 --config gpt2-xl --set compute=fp16 --batch 512 --machine dgx-a100 --hosts 1 -o mine.npar\n"
      "\n"
      "Sizes of the mesh, micro-batch, schedule, recomputation, ZeRO, sequence and context parallelism, places and buckets are tried: "
      "candidates that cannot fit or\n"
      "win by their bounds are left out, the promising ones compiled and simulated. The best is written as plan text with reasons.\n");
  flags->task.addTo(*app);
  app->add_option("--fix", flags->fixes, "a choice that the plan has to keep, such as 'mesh.tp = 8'; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  static const std::map<std::string, PlanGoal> goals = {
      {"speed", PlanGoal::Speed}, {"memory", PlanGoal::Memory}, {"money", PlanGoal::Money}};
  app->add_option_function<std::string>(
         "--for", [flags](const std::string &word) { flags->goal = goals.at(word); },
         "what is made small: the time of a step (speed, the default), the memory of the largest rank, or dollars of a step (money)")
      ->type_name("GOAL")
      ->check(CLI::IsMember({"speed", "memory", "money"}));
  app->add_option("-o,--output", flags->output, "write the plan to this file (default: standard output)")->type_name("FILE.npar");
  app->add_option("--html", flags->html, "a self-contained page of the search: time against memory, each plan with its text")
      ->type_name("FILE.html");
  app->add_flag("--json", flags->json, "one JSON object on standard output");
  return {app, [flags] {
            ExitCode code = findMachine(flags->task.model);
            return code == ExitCode::Good ? runPlan(*flags) : code;
          }};
}

} // namespace npar::driver
