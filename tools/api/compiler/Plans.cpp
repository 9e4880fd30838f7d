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
  give(answer, "report", json.dump(2, ' ', false, Json::error_handler_t::replace));
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

} // namespace

Status simulate(const npar_request &request, const npar_simulate_options &options, const Answer &answer) {
  RequestObserver observer(request.observer);
  TRY(models::ModelOptions model, modelOf(request, observer));
  TRY(dsl::Machine machine, planner::readMachineFile(model.machine, observer, model.texts));
  models::FileClaims files;
  TRY(program::ProgramPointer loaded, models::loadModel(model, files, observer, /*withoutKernels=*/true));
  const program::Program &program = loaded->root();
  program::PlaceWords words = program::placeOf(program);
  TRY(std::vector<program::HostRoom> rooms, planner::roomsFor(machine, program::worldOf(program), options.hosts));
  TRY(std::vector<std::vector<int64_t>> places, placeOnHosts(program, words, rooms));
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
  RequestObserver observer(request.observer);
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
  planner::SearchFolder folder;
  TRY_STATUS(folder.check());
  TRY_STATUS(planner::checkWords(task, {}, folder.path));
  TRY(planner::SearchResult result, planner::searchPlans(task, search, folder.path));
  if (result.best < 0)
    return planner::nothingFits(task, result, search, folder.path);
  giveReport(answer, planner::planJson(task, result, search.goal, planner::planText(task, result, search, "npar_simulate")));
  return {};
}

} // namespace npar::api
