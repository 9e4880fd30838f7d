// Searches the best plan for a request's model and machine.
#include "tools/api/Texts.h"
#include "tools/api/compiler/Functions.h"
#include "tools/api/compiler/Requests.h"

#include "engine/json/Json.h"
#include "tools/lib/planner/search/EnumerateCandidates.h"
#include "tools/lib/planner/search/NothingFits.h"
#include "tools/lib/planner/search/PlanForProgram.h"
#include "tools/lib/planner/search/PlanReport.h"
#include "tools/lib/planner/search/ReadTask.h"

namespace npar::api {

using engine::Result;
using engine::Status;

namespace {

Result<planner::PlanGoal> goalOf(npar_str word) {
  std::string goal = textOf(word);
  if (goal.empty() || goal == "speed")
    return planner::PlanGoal::Speed;
  if (goal == "memory")
    return planner::PlanGoal::Memory;
  if (goal == "money")
    return planner::PlanGoal::Money;
  return Status::usage("npar_plan_options.goal is '" + goal + "': speed, memory or money");
}

/// The command that prints the figures of the plan in a file.
std::string commandFor(const npar_request &request, int64_t hosts) {
  std::string machine = textOf(request.machine);
  if (machine.find('{') != std::string::npos)
    machine = "MACHINE";
  return "npar simulate FILE" + (machine.empty() ? "" : " --machine " + machine) + " --hosts " + std::to_string(hosts);
}

/// Tells the host of a plan that was judged.
void tell(RequestObserver &observer, const planner::PlanTask &task, const planner::Tried &tried, int64_t judged) {
  std::string name = planner::nameOf(tried), text = planner::textOf(task, tried);
  npar_candidate candidate = {};
  candidate.struct_size = sizeof candidate;
  candidate.fits = tried.fits();
  candidate.plan = strOf(text), candidate.refusal = strOf(tried.attempt.reason);
  if (const std::optional<planner::StepFigures> &figures = tried.attempt.figures)
    candidate.milliseconds = figures->seconds * 1e3, candidate.bytes = static_cast<int64_t>(figures->memory);
  npar_event event = {sizeof event, NPAR_EVENT_CANDIDATE, strOf(name), judged, 0, nullptr, &candidate};
  observer.tell(event);
}

} // namespace

Status plan(const npar_request &request, const npar_plan_options &options, const Answer &answer) {
  RequestObserver observer(request);
  planner::TaskRequest wanted;
  TRY(wanted.model, modelOf(request, observer));
  if (wanted.model.plan)
    return Status::usage("npar_plan makes its own plan: leave npar_request.plan empty");
  wanted.hosts = options.hosts, wanted.batch = options.batch, wanted.alone = true;
  planner::SearchOptions search;
  TRY(search.goal, goalOf(options.goal));
  search.work.jobs = options.jobs;
  if (options.budget > 0)
    search.budget = options.budget;
  TRY(planner::PlanTask task, planner::taskOf(wanted, observer));
  planner::adoptTypes(task);
  search.work.check = [&](size_t, size_t) { return engine::stopIfAsked(observer, "the search"); };
  search.judged = [&, judged = int64_t(0)](const planner::Tried &tried) mutable { tell(observer, task, tried, ++judged); };
  TRY(planner::SearchResult result, planner::searchPlans(task, search));
  TRY_STATUS(engine::stopIfAsked(observer, "the search"));
  if (result.best < 0)
    return planner::nothingFits(task, result, search);
  const planner::Tried &best = result.tried[static_cast<size_t>(result.best)];
  giveReport(answer, planner::planJson(task, result, search.goal,
                                       planner::planText(task, result, search, commandFor(request, best.attempt.figures->hosts))));
  return {};
}

} // namespace npar::api
