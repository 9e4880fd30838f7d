// Simulates the plan of a request and searches for a better one.
#include "tools/api/Texts.h"
#include "tools/api/compiler/Functions.h"
#include "tools/api/compiler/Requests.h"

#include "engine/json/Json.h"
#include "engine/program/Ranks.h"
#include "tools/lib/models/LoadModel.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/search/EnumerateCandidates.h"
#include "tools/lib/planner/search/NothingFits.h"
#include "tools/lib/planner/search/PlanForProgram.h"
#include "tools/lib/planner/search/PlanReport.h"
#include "tools/lib/planner/search/ReadTask.h"
#include "tools/lib/planner/simulate/Outlook.h"

namespace npar::api {

using engine::Result;
using engine::Status;

namespace {

void giveReport(const Answer &answer, const OrderedJson &json) {
  give(answer, "report", json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

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

Status simulate(const npar_request &request, const npar_simulate_options &options, const Answer &answer) {
  RequestObserver observer(request);
  TRY(models::ModelOptions model, modelOf(request, observer));
  TRY(dsl::Machine machine, planner::readMachineFile(model.machine, observer, model.texts));
  models::FileClaims files;
  TRY(program::ProgramPointer loaded, models::loadModel(model, files, observer, /*withoutKernels=*/true));
  const program::Program &program = loaded->root();
  program::PlaceWords words = program::placeOf(program);
  TRY(std::vector<program::HostRoom> rooms, planner::roomsFor(machine, program::worldOf(program), options.hosts));
  TRY(std::vector<std::vector<int64_t>> places, placeOnHosts(program, words, rooms));
  engine::Activity simulating(observer, "simulating a step");
  planner::OutlookRequest wanted;
  wanted.jitter = options.jitter, wanted.tokens = options.total_tokens;
  if (options.jitter > 0) {
    wanted.seed = options.jitter_seed;
    if (options.jitter_samples > 0)
      wanted.samples = options.jitter_samples;
  }
  TRY(planner::Outlook outlook, planner::outlookOf(wanted, program, machine, places, {}, observer));
  OrderedJson json = planner::predictionJson(program, outlook.prediction);
  planner::addOutlook(json, outlook);
  giveReport(answer, json);
  return {};
}

Status plan(const npar_request &request, const npar_plan_options &options, const Answer &answer) {
  RequestObserver observer(request);
  planner::TaskRequest wanted;
  TRY(wanted.model, modelOf(request, observer));
  if (wanted.model.plan)
    return Status::usage("npar_plan makes its own plan: leave npar_request.plan empty");
  wanted.hosts = options.hosts, wanted.batch = options.batch;
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
  giveReport(answer, planner::planJson(task, result, search.goal, planner::planText(task, result, search, "npar_simulate")));
  return {};
}

} // namespace npar::api
