// Reads the `#SBATCH` lines at the top of a script, which give the number of hosts, tasks and devices of the job.
#pragma once

#include "tools/lib/foreign/shell/Environment.h"

namespace npar::foreign::shell {

/// Sets the variables that Slurm makes of these lines, such as SLURM_NNODES. Does nothing for a script without them.
void readBatchLines(const Text &source, Environment &environment);

} // namespace npar::foreign::shell
