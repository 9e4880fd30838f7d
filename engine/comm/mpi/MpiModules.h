// Finds and loads modules, one for each MPI library that this npar was built for. No MPI header is needed here.
#pragma once

#include "engine/comm/process/Progress.h"

#include <string>
#include <vector>

namespace npar::engine {

struct MpiModule {
  std::string name;    ///< "mpich", "openmpi"
  std::string library; ///< name for messages: "MPICH"
  std::string path;    ///< path of the module
  std::string mpiexec; ///< path on the machine where npar was built; empty: none was found
};

/// The modules installed with npar: in `../lib/npar`, relative to the program or library that holds this code.
std::vector<MpiModule> mpiModules();

/// The mpiexec of the MPI installation that the module was built with, else one on PATH with the MPI in its name, as Debian has it; empty
/// if it does not exist.
std::string mpiexecOf(const MpiModule &module);

/// Loads the module and returns how to open its transport. BadInput when npar was built without it, or when its library is not on this
/// machine.
/// MPICH over UCX needs UCX_TCP_PUT_ENABLE=n in the environment, or its shutdown may hang.
Result<OpenTransport> mpiTransport(const std::string &name);

} // namespace npar::engine
