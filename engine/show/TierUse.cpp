// Adds up the copies between tiers over all tasks.
#include "engine/show/TierUse.h"

#include "engine/json/Json.h"
#include "engine/program/Tiers.h"
#include "engine/readable/HumanUnits.h"

#include <fmt/format.h>
#include <vector>

namespace npar::show {

using namespace npar::program;

TierUse tierUseOf(const RankClass &rankClass) {
  TierUse use;
  use.host = rankClass.host_bytes(), use.file = rankClass.file_bytes();
  std::vector<uint64_t> times(rankClass.fragments()->size());
  for (const Task *task : *rankClass.tasks())
    ++times[task->fragment()];
  for (uint32_t index = 0; index < times.size(); ++index) {
    const Fragment &fragment = *rankClass.fragments()->Get(index);
    for (const Step *step : *fragment.steps()) {
      const auto [from, to] = tiersOfCopy(rankClass, fragment, *step);
      if (from == to)
        continue;
      const uint64_t bytes = times[index] * fragment.operands()->Get(step->first_operand())->bytes();
      if (from == Tier::File || to == Tier::File)
        (from == Tier::File ? use.fromFile : use.toFile) += bytes;
      else
        (to == Tier::Host ? use.toHost : use.toDevice) += bytes;
    }
  }
  return use;
}

std::string movedText(const TierUse &use) {
  std::string text;
  for (const auto &[bytes, where] : {std::pair{use.toHost, "to the host"},
                                     {use.toDevice, "from the host"},
                                     {use.fromFile, "from files"},
                                     {use.toFile, "to files"}})
    if (bytes)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", readable::humanBytes(static_cast<double>(bytes)), where);
  return text;
}

OrderedJson tierJson(const TierUse &use) {
  return {{"host_bytes", use.host},         {"file_bytes", use.file},         {"to_host_bytes", use.toHost},
          {"to_device_bytes", use.toDevice}, {"from_file_bytes", use.fromFile}, {"to_file_bytes", use.toFile}};
}

} // namespace npar::show
