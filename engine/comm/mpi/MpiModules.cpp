// Finds and loads modules, one for each MPI library that this npar was built for.
#include "engine/comm/mpi/MpiModules.h"

#include "engine/files/CodeFile.h"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace npar::engine {

namespace {

struct KnownMpi {
  const char *name, *library, *package, *mpiexec;
};

/// NPAR_MPIEXEC_...: what CMake found, or nothing.
constexpr std::array<KnownMpi, 2> known = {
    {{"mpich", "MPICH", "libmpich-dev", NPAR_MPIEXEC_MPICH}, {"openmpi", "Open MPI", "libopenmpi-dev", NPAR_MPIEXEC_OPENMPI}}};

std::filesystem::path folderOfModules() { return files::prefixOfCode(reinterpret_cast<const void *>(&mpiModules)) / "lib" / "npar"; }

MpiModule moduleOf(const KnownMpi &mpi) {
  return {mpi.name, mpi.library, (folderOfModules() / (std::string("libnpar_") + mpi.name + ".so")).string(), mpi.mpiexec};
}

bool exists(const std::string &path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool isProgram(const std::string &path) { return !path.empty() && ::access(path.c_str(), X_OK) == 0; }

/// The path of a program found by its name on PATH; empty if it is not found.
std::string programNamed(const std::string &name) {
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::string path = (folder.empty() ? "." : folder) + "/" + name; isProgram(path))
      return path;
  return "";
}

} // namespace

std::string mpiexecOf(const MpiModule &module) {
  return isProgram(module.mpiexec) ? module.mpiexec : programNamed("mpiexec." + module.name);
}

std::vector<MpiModule> mpiModules() {
  std::vector<MpiModule> modules;
  for (const KnownMpi &mpi : known)
    if (MpiModule module = moduleOf(mpi); exists(module.path))
      modules.push_back(std::move(module));
  return modules;
}

Result<OpenTransport> mpiTransport(const std::string &name) {
  const KnownMpi *mpi = nullptr;
  for (const KnownMpi &each : known)
    if (each.name == name)
      mpi = &each;
  if (!mpi)
    return Status(Code::Internal, "unknown MPI '" + name + "'");
  MpiModule module = moduleOf(*mpi);
  if (!exists(module.path))
    return Status::badInput(std::string("this npar was built without ") + mpi->library + ": '" + module.path + "' is not there; install " +
                            mpi->package + " (so Debian calls it) and build npar again");
  // RTLD_GLOBAL: Open MPI's own plugins look for its functions among the global symbols.
  void *handle = ::dlopen(module.path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    const char *why = ::dlerror();
    return Status::badInput(std::string("npar's module for ") + mpi->library + " does not load: " + (why ? why : "for no stated reason") +
                            "; install " + mpi->library + " on this machine, in the version that npar was built with");
  }
  using Open = Result<std::unique_ptr<Transport>> *();
  auto *open = reinterpret_cast<Open *>(::dlsym(handle, "nparOpenMpiTransport"));
  if (!open)
    return Status::badInput("'" + module.path + "' is not a module of npar");
  return OpenTransport([open]() -> Result<std::unique_ptr<Transport>> {
    std::unique_ptr<Result<std::unique_ptr<Transport>>> opened(open());
    return std::move(*opened);
  });
}

} // namespace npar::engine
