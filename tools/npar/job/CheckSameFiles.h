// Has all processes of a job compare the files that they read.
#pragma once

#include "tools/npar/job/Job.h"

#include <string>
#include <vector>

namespace npar::driver {

/// Compares the files that all processes are about to read. `weights`: paths of files or folders with weights. BadInput, with a message
/// for each differing file. All processes must call it together. A process that is alone reads nothing.
ExitCode checkSameFiles(Job &job, std::vector<std::string> paths, const std::vector<std::string> &weights, uint64_t seed);

} // namespace npar::driver
