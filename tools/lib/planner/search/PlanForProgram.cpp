// Knows which candidates another program has words for: what a ForeignProgram would refuse is not searched.
#include "tools/lib/planner/search/PlanForProgram.h"

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/planner/search/EnumerateCandidates.h"

namespace npar::planner {

void adoptTypes(PlanTask &task) {
  if (task.as && !task.types.gradients)
    task.types.gradients = task.as->gradientsOf(task.types.compute);
}

bool hasWordsFor(const PlanTask &task, const Candidate &c) {
  if (!task.as)
    return true;
  if (c.live > 0 || c.buffer > 0 || (c.ep > 1 && !task.as->sharesExperts()) || c.split != Split() ||
      (c.pp > 1 && task.as->schedules().count(scheduleWord(c)) == 0))
    return false;
  foreign::PlanShape plan;
  plan.blocks = task.blocks;
  plan.pp = c.pp, plan.chunks = c.chunks, plan.dp = c.dp, plan.cp = c.cp, plan.tp = c.tp, plan.zero = c.zero;
  plan.context = wordOf(c.context);
  plan.sequence = c.sequence;
  plan.inMeshOrder = c.place == PlaceOrder::Mesh;
  plan.hasExperts = !task.experts.axis.empty();
  plan.recomputesEvery = c.recompute.kind == dsl::RecomputeKind::Every;
  return task.as->expresses(plan);
}

engine::Status checkWords(const PlanTask &task, const Choices &fixes) {
  std::vector<Candidate> candidates = candidatesFor(task, fixes);
  if (!task.as || candidates.empty())
    return {};
  std::string refusal; // without the place, because the user has not seen that plan
  engine::Observer nobody;
  engine::Result<std::string> written = foreign::planAs(optionsFor(task, candidates.front()), *task.as, nullptr, nobody, &refusal);
  if (written.ok())
    return {};
  return refusal.empty() ? written.status() : engine::Status::badInput(refusal);
}

void barByWords(const PlanTask &task, ForeignPlan &own) {
  std::string refusal;
  engine::Observer nobody;
  if (task.as && own.barred.empty() && own.tried.attempt.figures &&
      !foreign::planAs(own.model.options, *task.as, &own.model.run, nobody, &refusal).ok())
    own.barred = refusal;
}

engine::Result<std::string> bestAs(const PlanTask &task, const Tried &best, const ForeignPlan *own, const std::string &output,
                                   engine::Observer &observer) {
  bool isOwn = own && !best.text.empty();
  ModelOptions options = isOwn ? withText(own->model.options, best.text) : optionsFor(task, best.candidate);
  if (!output.empty())
    options.model = output;
  std::optional<foreign::ForeignRun> origin;
  if (own)
    origin = own->model.run, origin->isOwnPlan = origin->isOwnPlan && isOwn;
  return foreign::planAs(options, *task.as, origin ? &*origin : nullptr, observer);
}

} // namespace npar::planner
