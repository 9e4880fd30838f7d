// Roofline times of steps, latency-bandwidth times of messages and ring collectives.
#include "compiler/cost/CostModel.h"

#include <algorithm>

namespace npar::cost {

double stepSeconds(const Machine &machine, Work work, double flops, double bytes) {
  double rate = work == Work::Matmul ? machine.matmulFlops : machine.vectorFlops;
  return std::max(flops / rate, bytes / machine.memoryBytes);
}

double transferSeconds(const Machine &machine, double bytes) { return machine.linkLatency + bytes / machine.linkBytes; }

double collectiveSeconds(const Machine &machine, CollectiveKind kind, double bytes, int members) {
  if (members <= 1)
    return 0;
  if (kind == CollectiveKind::Permute)
    return transferSeconds(machine, bytes);
  // A round passes 1/members of the vector to the neighbour; an all-reduce is a reduce-scatter and an all-gather.
  int rounds = (kind == CollectiveKind::AllReduce ? 2 : 1) * (members - 1);
  return rounds * transferSeconds(machine, bytes / members);
}

} // namespace npar::cost
