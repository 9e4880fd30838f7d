// `npar explain`: which kinds of parallelism and of saving memory are worth it for a model on a machine, each by two simulated plans.
#include "engine/json/Json.h"
#include "tools/npar/Command.h"

#include "dsl/machine/Hosts.h"
#include "tools/lib/planner/search/Explain.h"
#include "tools/lib/planner/search/NothingFits.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/plan/StoppableWork.h"
#include "tools/npar/plan/TaskFlags.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Terminal.h"

#include <iostream>

namespace npar::driver {
namespace {

struct ExplainFlags {
  TaskFlags task;
  bool json = false;
};

ExitCode runExplain(const ExplainFlags &flags) {
  if (flags.task.model.plan)
    return fail(ExitCode::Usage, "explain makes its own plans: remove --plan");
  FileClaims files;
  if (ExitCode code = flags.task.check("explain", files); code != ExitCode::Good)
    return code;
  Outcome<planner::PlanTask> task = reported(planner::taskOf(flags.task, terminal()));
  if (!task.ok())
    return task.code();
  if (dsl::isUneven(task->machine))
    return fail(ExitCode::Usage, "explain needs hosts of one kind, but machine '" + task->machine.name +
                                     "' has several kinds of hosts: use npar plan instead");
  planner::SearchOptions options;
  options.work = stoppableWork(flags.task.jobs);
  Outcome<planner::SearchResult> found = reported(planner::searchPlans(*task, options));
  if (!found.ok())
    return found.code();
  if (found->best < 0)
    return reported(planner::nothingFits(*task, *found, options));
  Outcome<planner::Explanation> explanation = reported(planner::explainPlans(*task, options, *found));
  if (!explanation.ok())
    return explanation.code();
  if (flags.json)
    printJson(planner::explanationJson(*task, *explanation));
  else
    std::cout << planner::explanationText(*task, *explanation);
  return ExitCode::Good;
}

} // namespace

Command addExplainCommand(CLI::App &driver) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App *app = driver.add_subcommand(
      "explain", "report which kinds of parallelism pay off for a model on a machine\n\n"
                 "Example:\n"
                 "  npar explain gpt2 --set compute=fp16 --batch 64 --machine dgx-a100 --hosts 1\n"
                 "\n"
                 "Searches for a plan as `npar plan` does, then tells which of these pay off: a single device, tensor and "
                 "pipeline parallelism, ZeRO, recomputation, sequence and context\n"
                 "parallelism, schedules, micro-batches and buckets. Each answer compares two "
                 "simulated plans, one with it and one without.\n");
  flags->task.addTo(*app);
  app->option_defaults()->group("Reports");
  app->add_flag("--json", flags->json, "print the result as one JSON object");
  return {app, [flags] {
            ExitCode code = findMachine(flags->task.model);
            return code == ExitCode::Good ? runExplain(*flags) : code;
          }};
}

} // namespace npar::driver
