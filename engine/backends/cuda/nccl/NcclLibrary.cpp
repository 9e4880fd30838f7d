// Opens NCCL and words its errors.
#include "engine/backends/cuda/nccl/NcclLibrary.h"

namespace npar::engine::cuda {

LibraryPlace NcclLibrary::place() { return {"NCCL", "NCCL", "NPAR_NCCL", {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"}}; }

void NcclLibrary::find(LibraryFile &file){NPAR_NCCL_FUNCTIONS(NPAR_FIND_FUNCTION)}

Status NcclLibrary::checkVersion() {
  if (functions.getVersion && functions.getVersion(&number) == NcclCode::Success && number < neededNccl)
    return libraryTooOld(place(), version(), libraryVersion(neededNccl));
  return {};
}

Status NcclLibrary::start() { return number > 0 ? Status() : Status::badInput("NCCL does not report its version"); }

Status NcclLibrary::check(NcclCode code, const std::string &what, void *communicator) const {
  if (code == NcclCode::Success || code == NcclCode::InProgress)
    return {};
  const char *name = functions.getErrorString(code), *last = functions.getLastError(communicator);
  std::string words = name ? name : "error " + std::to_string(static_cast<int>(code));
  if (last && *last)
    words += " (" + std::string(last) + ")";
  return Status::runFailed("NCCL: " + what + ": " + words);
}

} // namespace npar::engine::cuda
