// A run of another program (--from) as a training: its model and plan in place of MODEL, and what its file says about the rest of the run
// in place of flags that are not given.
#pragma once

#include "tools/npar/train/RunFlags.h"

namespace npar::driver {

class Job;

/// Reads the run and makes `flags.model` its model. In a job each process reads it, and all must find the same. BadInput for a run that npar
/// would train differently: the model is only a near one (without --nearest-model), or it starts from weights that are not here (without
/// --weights or --from-scratch). Good if there is no --from. All processes call it together and get the same code.
ExitCode takeForeignRun(RunFlags &flags, Job &job);

/// Prints how the run was understood, what was assumed, and what is not taken. `compiled`: its plan was compiled.
void reportForeignRun(const RunFlags &flags, bool compiled);

} // namespace npar::driver
