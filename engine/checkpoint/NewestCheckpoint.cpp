// Opens one after the other, from the newest back.
#include "engine/checkpoint/NewestCheckpoint.h"

namespace npar::engine {

Result<NewestCheckpoint> newestWhole(const std::string &folder, uint64_t below) {
  Result<std::vector<CommittedCheckpoint>> named = namedCheckpoints(folder);
  if (!named.ok())
    return named.status();
  NewestCheckpoint found;
  Status newest = Status::badInput("'" + folder + "' holds no checkpoint");
  for (auto each = named->rbegin(); each != named->rend(); ++each) {
    if (each->step >= below)
      continue;
    Result<std::shared_ptr<const CheckpointStore>> opened = openNamed(*each);
    if (opened.ok()) {
      found.store = std::move(*opened);
      return found;
    }
    if (found.skipped.empty())
      newest = opened.status();
    if (opened.status().code() != Code::BadInput || isOfLaterFormat(each->path))
      return opened.status();
    found.skipped.push_back({each->path, opened.status().message()});
  }
  return newest;
}

} // namespace npar::engine
