// Fills hosts with ranks.
#include "tools/npar/simulate/HostRooms.h"

#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::driver {

int64_t hostsFor(const dsl::Machine &machine, int64_t ranks) {
  int64_t each = static_cast<int64_t>(machine.ranks);
  return (ranks + each - 1) / each;
}

Outcome<std::vector<program::HostRoom>> roomsFor(const dsl::Machine &machine, int64_t ranks, int64_t hosts) {
  int64_t each = static_cast<int64_t>(machine.ranks), needed = hostsFor(machine, ranks);
  if (hosts != 0 && hosts != needed)
    return fail(ExitCode::BadInput, fmt::format("the mesh has {} ranks, which take {} of '{}' with {} each; --hosts says {}", ranks,
                                                needed == 1 ? "one host" : fmt::format("{} hosts", needed), machine.name, each, hosts));
  if (needed > 1 && machine.link(dsl::LinkLevel::Cluster).bandwidth <= 0 && machine.link(dsl::LinkLevel::Rack).bandwidth <= 0)
    return fail(ExitCode::BadInput,
                fmt::format("the mesh has {} ranks on {} hosts, and machine '{}' lacks the figures of messages between hosts: "
                            "write `link cluster {{ bandwidth ... GB/s  latency ... us }}`",
                            ranks, needed, machine.name));
  std::vector<program::HostRoom> rooms;
  for (int64_t host = 0; host < needed; ++host)
    rooms.push_back({std::to_string(host), std::min(each, ranks - host * each)});
  return rooms;
}

} // namespace npar::driver
