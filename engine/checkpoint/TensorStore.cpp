// Finds out what a path is, and opens it as a store of tensors.
#include "engine/checkpoint/TensorStore.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/HuggingFaceStore.h"

#include <sys/stat.h>

namespace npar::engine {

Result<std::shared_ptr<const TensorStore>> openTensorStore(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return openSafetensorsStore(path);
  if (!isCheckpoint(path))
    return openFolderStore(path);
  Result<std::shared_ptr<const CheckpointStore>> checkpoint = openCheckpointStore(path);
  if (!checkpoint.ok())
    return checkpoint.status();
  return std::shared_ptr<const TensorStore>(*checkpoint);
}

} // namespace npar::engine
