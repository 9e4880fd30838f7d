// Roofline times of steps, latency-bandwidth times of messages and ring collectives.
#include "compiler/cost/CostModel.h"

#include <algorithm>

namespace npar::cost {

double stepSeconds(const Machine &machine, Work work, double flops, double bytes) {
  double rate = work == Work::Matmul ? machine.matmulFlops : machine.vectorFlops;
  return std::max(flops / rate, bytes / machine.memoryBytes);
}

double transferSeconds(const Machine &machine, double bytes) { return machine.linkLatency + bytes / machine.linkBytes; }

double collectiveSeconds(const Machine &machine, program::CollectiveKind kind, double bytes, int members) {
  if (members <= 1)
    return 0;
  // A round passes 1/members of the vector to the neighbour; an all-reduce is a reduce-scatter and an all-gather.
  auto rounds = [&](int count) { return count * transferSeconds(machine, bytes / members); };
  switch (kind) {
  case program::CollectiveKind::Permute:
    return transferSeconds(machine, bytes);
  case program::CollectiveKind::AllReduce:
    return rounds(2 * (members - 1));
  case program::CollectiveKind::AllGather:
  case program::CollectiveKind::ReduceScatter:
  case program::CollectiveKind::AllToAll:
    break;
  }
  return rounds(members - 1);
}

} // namespace npar::cost
