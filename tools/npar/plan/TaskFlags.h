// The flags of `npar plan` and `npar explain` that describe the task: model, machine, hosts, batch.
#pragma once

#include "tools/lib/models/FileClaims.h"
#include "tools/lib/planner/search/ReadTask.h"
#include "tools/npar/terminal/ExitCode.h"

#include <CLI/CLI.hpp>
#include <string>

namespace npar::driver {

using models::FileClaims;

struct TaskFlags : planner::TaskRequest {
  int jobs = 0; ///< 0: the machine's cores

  void addTo(CLI::App &app);
  /// Refuses what leaves nothing to search, in the words of subcommand `name`; claims the files that are read.
  ExitCode check(const std::string &name, FileClaims &files) const;
};

} // namespace npar::driver
