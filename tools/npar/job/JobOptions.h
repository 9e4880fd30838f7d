// The flags by which a command says how it is part of a job of several processes.
#pragma once

#include "engine/files/Fingerprint.h"
#include "tools/npar/terminal/CliApp.h"

#include <optional>
#include <string>

namespace npar::driver {

struct JobOptions {
  bool alone = false;               ///< looks at no launcher
  std::string mpi;                  ///< which MPI; empty: the launcher's
  std::optional<std::string> place; ///< in which order ranks go onto hosts; nothing: as the plan says
  std::string nccl = "auto";        ///< whether messages go from GPU to GPU: auto, always, never
  std::string flight;               ///< folder of flight records; empty: a temporary one
  std::string check = "sampled";    ///< how much of data and weights processes compare: sampled, full

  program::FingerprintKind fingerprints() const {
    return check == "full" ? program::FingerprintKind::Full : program::FingerprintKind::Sampled;
  }

  void addTo(CLI::App &app);
};

} // namespace npar::driver
