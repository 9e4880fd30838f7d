// Knows which candidates another program has words for: what foreign/AsRun would refuse is not searched.
#include "tools/npar/plan/OtherProgram.h"

#include "engine/files/AtomicFile.h"
#include "tools/npar/plan/Enumerate.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {
void adoptTypes(PlanTask &task) {
  if (task.as == ForeignFormat::Torchtitan && task.compute == "bf16" && task.gradients.empty())
    task.gradients = "f32";
}

bool hasWordsFor(const PlanTask &task, const Candidate &c) {
  if (!task.as)
    return true;
  if (c.live > 0 || c.split != "all" || (c.pp > 1 && schedulesOf(*task.as).count(c.schedule) == 0))
    return false;
  // The shares of a text are over dp alone, theirs over cp too.
  bool sharesApart = c.zero > 0 && c.cp > 1;
  switch (*task.as) {
  case ForeignFormat::Megatron:
    return !sharesApart && c.context != "ring" && c.context != "ulysses" && task.blocks % (c.pp * c.chunks) == 0 && c.place == "dp,pp";
  case ForeignFormat::Torchtitan:
    return c.cp == 1 && (c.tp == 1 || c.sequence) && (c.zero == 0 || c.zero == 3) && c.recompute != "every 2";
  case ForeignFormat::DeepSpeed:
    return c.cp == 1 && !c.sequence;
  case ForeignFormat::Accelerate:
    return false;
  }
  return false;
}

ExitCode checkWords(const PlanTask &task, const Choices &fixes, const std::string &folder) {
  std::vector<Candidate> candidates = candidatesFor(task, fixes);
  if (!task.as || candidates.empty())
    return ExitCode::Good;
  std::string path = folder + "/planned.npar", text = textOf(task, candidates.front());
  if (engine::Status status = program::writeFileAtomically(path, text.data(), text.size()); !status.ok())
    return fail(status);
  std::string refusal; // without the place: nobody has seen that plan
  Outcome<std::string> written = planAs(optionsFor(task, path), *task.as, &refusal);
  return written.ok() || refusal.empty() ? written.code() : fail(ExitCode::BadInput, refusal);
}

void barByWords(const PlanTask &task, OwnPlan &own) {
  std::string refusal;
  if (task.as && own.barred.empty() && own.tried.attempt.figures && !planAs(own.model.options, *task.as, &refusal).ok())
    own.barred = refusal;
}

Outcome<std::string> bestAs(const PlanTask &task, const Tried &best, const OwnPlan *own, const std::string &path) {
  ModelOptions options = own && !best.text.empty() ? own->model.options : optionsFor(task, path);
  options.model = path;
  return planAs(options, *task.as);
}

} // namespace npar::driver
