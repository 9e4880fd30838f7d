// Opens NCCL and fills the table of its functions.
#include "engine/backends/cuda/nccl/NcclLibrary.h"

#include "engine/backends/cuda/driver/LibraryFile.h"

#include <utility>

namespace npar::engine::cuda {

Result<const NcclLibrary *> NcclLibrary::open() {
  // What it lacks it goes on lacking. Never destroyed, since its threads live on.
  static const auto *opened = [] {
    auto *library = new NcclLibrary;
    return new std::pair<NcclLibrary *, Status>(library, library->load());
  }();
  if (!opened->second.ok())
    return opened->second;
  return static_cast<const NcclLibrary *>(opened->first);
}

Status NcclLibrary::load() {
  Result<LibraryFile> library = LibraryFile::open("NCCL", "NPAR_NCCL", {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"});
  if (!library.ok())
    return library.status();
#define NPAR_NCCL_FIND(MEMBER, SYMBOL, RESULT, PARAMETERS) library->find(functions.MEMBER, #SYMBOL);
  NPAR_NCCL_FUNCTIONS(NPAR_NCCL_FIND)
#undef NPAR_NCCL_FIND
  if (functions.getVersion && functions.getVersion(&number) == NcclCode::Success && number < neededNccl)
    return Status::badInput("NCCL has version " + libraryVersion(static_cast<size_t>(number)) + ", and " + libraryVersion(neededNccl) +
                            " is needed: install a newer one");
  if (Status status = library->complete(); !status.ok())
    return status;
  return number > 0 ? Status() : Status::badInput("NCCL does not report its version");
}

std::string NcclLibrary::version() const { return libraryVersion(static_cast<size_t>(number)); }

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
