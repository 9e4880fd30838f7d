// The calls of a trainer that shares its ranks with other processes: all make the same ones, with the same arguments and the same end.
#include "tools/api/library/Trainer.h"

#include <fmt/format.h>

using namespace npar;
using npar::engine::Status;

Status npar_trainer::begin(job::Call call, const Status &refusal) {
  if (!isShared())
    return refusal;
  order = memory->job->oneCallAtATime();
  if (memory->job->trainersCreated() > 1)
    call.doing += fmt::format(" (trainer {})", number);
  call.refusal = refusal;
  return memory->job->begin(std::move(call));
}

Status npar_trainer::end(const Status &own, bool changes) {
  if (!isShared())
    return own;
  const Status agreed = processes().agree(own);
  if (!agreed.ok() && changes)
    session().abandon(agreed);
  return agreed;
}
