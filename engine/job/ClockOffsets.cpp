// Intersects the intervals of offsets that the exchanges allow.
#include "engine/job/ClockOffsets.h"

#include "engine/runtime/Clock.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace npar::job {

std::vector<ClockOffset> clockOffsets(const std::vector<std::vector<ClockExchange>> &exchanges) {
  std::vector<ClockOffset> offsets(exchanges.size());
  for (size_t process = 1; process < exchanges.size(); ++process) {
    const std::vector<ClockExchange> &zero = exchanges[0], &own = exchanges[process];
    double least = -std::numeric_limits<double>::infinity(), greatest = -least;
    for (size_t i = 0; i < std::min(zero.size(), own.size()); ++i) {
      least = std::max(least, zero[i].begun - own[i].ended);
      greatest = std::min(greatest, zero[i].ended - own[i].begun);
    }
    offsets[process] = {(least + greatest) / 2, std::max(0.0, greatest - least) / 2};
  }
  return offsets;
}

engine::Result<std::vector<ClockOffset>> measureClocks(const Processes &processes) {
  constexpr int rounds = 24;
  std::vector<ClockExchange> own(rounds);
  engine::SystemClock clock;
  for (ClockExchange &exchange : own) {
    exchange.begun = clock.now();
    TRY_STATUS(processes.gather({}).status());
    exchange.ended = clock.now();
  }
  auto *bytes = reinterpret_cast<const uint8_t *>(own.data());
  TRY(std::vector<std::vector<uint8_t>> all, processes.gather({bytes, bytes + rounds * sizeof(ClockExchange)}));
  std::vector<std::vector<ClockExchange>> exchanges(all.size(), std::vector<ClockExchange>(rounds));
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty())
      std::memcpy(exchanges[i].data(), all[i].data(), std::min(all[i].size(), rounds * sizeof(ClockExchange)));
  return clockOffsets(exchanges);
}

} // namespace npar::job
