#include "engine/training/TrainedClasses.h"

#include "engine/checkpoint/CheckpointStore.h"

namespace npar::training {

engine::ClassNames trainedClasses(const std::string &path) {
  if (path.empty() || !engine::isCheckpoint(path))
    return {};
  auto store = engine::openCheckpointStore(path);
  if (!store.ok() || (*store)->manifest().data.empty())
    return {};
  return {(*store)->description(), (*store)->manifest().data.front().classes};
}

engine::Status checkClasses(const std::vector<std::string> &ofData, const engine::ClassNames &trained) {
  std::string difference = engine::classDifference({"these data", ofData}, trained);
  return difference.empty() ? engine::Status()
                            : engine::Status::badInput(difference + "\nnpar: help: give a folder whose sub-folders have the same names");
}

} // namespace npar::training
