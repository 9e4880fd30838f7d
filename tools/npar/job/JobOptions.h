// The flags that control how a command takes part in a job of several processes.
#pragma once

#include "engine/files/Fingerprint.h"
#include "tools/npar/terminal/CliApp.h"

#include <optional>
#include <string>

namespace npar::driver {

struct JobOptions {
  bool alone = false;               ///< ignore the launcher
  std::string mpi;                  ///< name of the MPI library; empty: the launcher's
  std::optional<std::string> place; ///< order in which ranks are placed on hosts; nothing: the plan's
  std::string nccl = "auto";        ///< use of NCCL for messages between GPUs: auto, always, never
  std::string flight;               ///< folder for flight records; empty: a temporary one
  std::string check = "sampled";    ///< how much of data and weights the processes compare: sampled, full

  files::FingerprintKind fingerprints() const { return check == "full" ? files::FingerprintKind::Full : files::FingerprintKind::Sampled; }

  void addTo(CLI::App &app);
};

} // namespace npar::driver
