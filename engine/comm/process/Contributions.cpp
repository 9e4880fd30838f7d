// Packs the contributions of consecutive processes to a gather into messages.
#include "engine/comm/process/Contributions.h"

#include <cstring>
#include <utility>

namespace npar::engine {

void Contributions::add(const Run &run, const uint8_t *bytes) {
  if (!packed.empty() && run.dataTag == 0) {
    Run before;
    std::memcpy(&before, &packed[last], sizeof(Run));
    if (before.dataTag == 0 && before.size == run.size &&
        (run.size == 0 || std::memcmp(&packed[last + sizeof(Run)], bytes, run.size) == 0)) {
      before.times += run.times;
      std::memcpy(&packed[last], &before, sizeof(Run));
      return;
    }
  }
  last = packed.size();
  auto *head = reinterpret_cast<const uint8_t *>(&run);
  packed.insert(packed.end(), head, head + sizeof(Run));
  if (run.dataTag == 0)
    packed.insert(packed.end(), bytes, bytes + run.size);
}

bool Contributions::append(const std::vector<uint8_t> &more, uint32_t processes) {
  return read(more, processes, [this](const Run &run, const uint8_t *bytes) { add(run, bytes); });
}

std::vector<uint8_t> Contributions::take() {
  last = 0;
  return std::exchange(packed, {});
}

bool Contributions::read(const std::vector<uint8_t> &packed, uint32_t processes,
                         const std::function<void(const Run &, const uint8_t *)> &give) {
  uint64_t left = processes;
  for (size_t at = 0; at < packed.size();) {
    Run run;
    if (packed.size() - at < sizeof(Run))
      return false;
    std::memcpy(&run, &packed[at], sizeof(Run));
    at += sizeof(Run);
    uint64_t follow = run.dataTag == 0 ? run.size : 0;
    if (run.times == 0 || run.times > left || (run.dataTag != 0 && run.times != 1) || follow > packed.size() - at)
      return false;
    give(run, packed.data() + at);
    at += follow, left -= run.times;
  }
  return left == 0;
}

} // namespace npar::engine
