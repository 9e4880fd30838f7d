// Fills hosts with ranks.
#include "tools/lib/planner/simulate/HostRooms.h"

#include "dsl/machine/Hosts.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::planner {

using engine::Status;

engine::Result<std::vector<program::HostRoom>> roomsFor(const dsl::Machine &machine, int64_t ranks, int64_t hosts) {
  int64_t needed = dsl::hostsFor(machine, ranks);
  std::string them = needed == 1 ? "one host" : fmt::format("{} hosts", needed);
  if (dsl::isUneven(machine) && ranks > dsl::placeCount(machine))
    return Status::badInput(fmt::format("the mesh has {} ranks, and the {} hosts of '{}' hold {}", ranks, dsl::hostCount(machine),
                                        machine.name, dsl::placeCount(machine)));
  if (hosts != 0 && hosts != needed && dsl::isUneven(machine))
    return Status::badInput(
        fmt::format("the mesh has {} ranks, which take the first {} of '{}'; --hosts says {}", ranks, them, machine.name, hosts));
  if (hosts != 0 && hosts != needed)
    return Status::badInput(fmt::format("the mesh has {} ranks, which take {} of '{}' with {} each; --hosts says {}", ranks, them,
                                        machine.name, static_cast<int64_t>(machine.ranks), hosts));
  if (needed > 1 && machine.link(dsl::LinkLevel::Cluster).bandwidth <= 0 && machine.link(dsl::LinkLevel::Rack).bandwidth <= 0)
    return Status::badInput(fmt::format("the mesh has {} ranks on {} hosts, and machine '{}' lacks the figures of messages between hosts: "
                                        "write `link cluster {{ bandwidth ... GB/s  latency ... us }}`",
                                        ranks, needed, machine.name));
  std::vector<program::HostRoom> rooms;
  for (int64_t host = 0, filled = 0; host < needed; ++host) {
    auto each = static_cast<int64_t>(dsl::machineOfKind(machine, dsl::kindOfHost(machine, host)).ranks);
    rooms.push_back({std::to_string(host), std::min(each, ranks - filled)});
    filled += each;
  }
  return rooms;
}

} // namespace npar::planner
