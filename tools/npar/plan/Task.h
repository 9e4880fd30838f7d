// From the flags of `npar plan` and `npar explain` to what plans are searched for.
#pragma once

#include "tools/lib/foreign/ForeignModel.h"
#include "tools/npar/files/FileClaims.h"
#include "tools/npar/plan/Candidate.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <string>

namespace npar::driver {

/// The flags that say what is searched for.
struct TaskFlags {
  ModelOptions model;
  int64_t hosts = 0; ///< 0: one, or all of an uneven machine
  int64_t batch = 0; ///< 0: the train block's
  int jobs = 0;      ///< 0: the machine's cores

  void addTo(CLI::App &app);
  /// Refuses what leaves nothing to search, in the words of subcommand `name`; claims the files that are read.
  ExitCode check(const std::string &name, FileClaims &files) const;
};

/// Reads model and machine. `run`: what another program trains and how, in place of the flags' model; null for none.
Outcome<PlanTask> taskOf(const TaskFlags &flags, const foreign::ForeignModel *run = nullptr);

/// A folder in $TMPDIR (else /tmp) for the candidates' texts, gone when the search is over.
class SearchFolder {
public:
  SearchFolder();
  ~SearchFolder();
  SearchFolder(const SearchFolder &) = delete;
  SearchFolder &operator=(const SearchFolder &) = delete;
  /// Says so when it could not be made.
  ExitCode check() const;
  std::string path; ///< empty when it could not be made
};

} // namespace npar::driver
