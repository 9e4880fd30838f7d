// The MPI libraries that this npar was built for, each as a module that is loaded when somebody asks for it. No MPI header is needed here.
#pragma once

#include "engine/comm/process/Progress.h"

#include <string>
#include <vector>

namespace npar::engine {

struct MpiModule {
  std::string name;    ///< "mpich", "openmpi"
  std::string library; ///< as people call it: "MPICH"
  std::string path;    ///< of the module
  std::string mpiexec; ///< of the machine that npar was built on; empty: none was found
};

/// Those that lie beside the driver: `../lib/npar` from the program that runs.
std::vector<MpiModule> mpiModules();

/// Loads the module and returns how to open its transport. BadInput when npar was built without it, or when its library is not on this
/// machine.
Result<OpenTransport> mpiTransport(const std::string &name);

} // namespace npar::engine
