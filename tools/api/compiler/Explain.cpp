// Explains which kinds of parallelism pay off for a request's model and machine.
#include "tools/api/compiler/Functions.h"
#include "tools/api/compiler/Requests.h"

#include "dsl/machine/Hosts.h"
#include "engine/json/Json.h"
#include "tools/lib/planner/search/Explain.h"
#include "tools/lib/planner/search/NothingFits.h"
#include "tools/lib/planner/search/ReadTask.h"

namespace npar::api {

using engine::Status;

Status explain(const npar_request &request, const npar_explain_options &options, const Answer &answer) {
  RequestObserver observer(request);
  planner::TaskRequest wanted;
  TRY(wanted.model, modelOf(request, observer));
  if (wanted.model.plan)
    return Status::usage("npar_explain makes its own plans: leave npar_request.plan empty");
  wanted.hosts = options.hosts, wanted.batch = options.batch;
  TRY(planner::PlanTask task, planner::taskOf(wanted, observer));
  if (dsl::isUneven(task.machine))
    return Status::usage("npar_explain needs hosts of one kind, but machine '" + task.machine.name +
                         "' has several kinds of hosts: search for a plan instead");
  planner::SearchOptions search;
  search.work.jobs = options.jobs;
  search.work.check = [&](size_t, size_t) { return engine::stopIfAsked(observer, "the search"); };
  TRY(planner::SearchResult found, planner::searchPlans(task, search));
  if (found.best < 0)
    return planner::nothingFits(task, found, search);
  TRY(planner::Explanation explanation, planner::explainPlans(task, search, found));
  TRY_STATUS(engine::stopIfAsked(observer, "the search"));
  giveReport(answer, planner::explanationJson(task, explanation));
  return {};
}

} // namespace npar::api
