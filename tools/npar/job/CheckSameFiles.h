// Has all processes of a job compare the files that they read.
#pragma once

#include "tools/npar/job/Job.h"

#include <string>
#include <vector>

namespace npar::driver {

/// All processes call it with the files that they are about to read, and the path of the weights (a file or a folder; empty: none).
/// BadInput, with those messages, where files differ. A process that is alone reads nothing.
ExitCode checkSameFiles(Job &job, std::vector<std::string> paths, const std::string &weights, uint64_t seed);

} // namespace npar::driver
