// Reads when Megatron-LM evaluates and saves. Defaults come from megatron/training/config/training_config.py.
#include "tools/lib/foreign/megatron/Megatron.h"

namespace npar::foreign {

void readMegatronRequest(Reading &in) {
  using Every = Repetition::Every;
  RunRequest &request = in.run.request;
  auto count = [&](const char *key, int64_t otherwise) { // of a setting that matters to `npar train` alone
    const ForeignEntry *entry = in.peek(key);
    return entry && !entry->unknown ? in.whole(entry, otherwise, 0, Reading::mostSize) : otherwise;
  };
  const int64_t saving = count("save_interval", 0), evaluating = count("eval_interval", 1000);
  request.saving = Repetition(), request.evaluation = Repetition();
  if (const ForeignEntry *folder = in.peek("save")) { // without it there is no checkpoint
    request.saving->every = Every::Steps;
    if (saving > 0) // else at the end
      request.saving->steps = saving;
    if (!folder->unknown)
      request.output = folder->value;
  }
  if (evaluating > 0 && count("eval_iters", 100) > 0)
    request.evaluation->every = Every::Steps, request.evaluation->steps = evaluating;
}

} // namespace npar::foreign
