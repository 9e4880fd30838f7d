// Times of steps from the machine's figures, latency-bandwidth times of messages and ring collectives.
#include "compiler/cost/CostModel.h"

#include <algorithm>

namespace npar::cost {

/// The place of a type in the machine's lists. Integers are not multiplied.
static size_t typeIndex(program::ElementType type) {
  switch (type) {
  case program::ElementType::BF16:
    return 1;
  case program::ElementType::F16:
    return 2;
  case program::ElementType::F64:
    return 3;
  case program::ElementType::F32:
  case program::ElementType::I32:
  case program::ElementType::U8:
    break;
  }
  return 0;
}

/// A figure's share of a side: nothing where the side is not known.
static double edge(double figure, double side) { return side > 0 ? figure / side : 0; }

double workSeconds(const Machine &machine, const Operation &op) {
  switch (op.work) {
  case Work::Product: {
    if (op.type == program::ElementType::F64) // a generated kernel
      return 2 * op.operations * machine.operation;
    const dsl::ProductFigures &product = machine.products[typeIndex(op.type)];
    return op.operations / product.rate * (1 + edge(product.rows, op.m) + edge(product.columns, op.n) + edge(product.depth, op.k));
  }
  case Work::Attention:
  case Work::AttentionGradient: {
    const dsl::AttentionFigures &attention = (op.work == Work::Attention ? machine.attentions : machine.gradients)[typeIndex(op.type)];
    return op.operations / attention.rate * (1 + edge(attention.rows, op.m));
  }
  case Work::Kernel: {
    double near = std::min(op.bytes, machine.nearSize), wide = op.type == program::ElementType::F64 ? 2 : 1;
    return wide * (op.operations * machine.operation + op.functions * machine.function) + near / machine.near +
           (op.bytes - near) / machine.far;
  }
  case Work::Move:
    break;
  }
  return op.bytes / machine.move;
}

Duration spreadOverCores(const Machine &machine, double seconds) {
  double square = seconds * seconds, share = seconds > 0 ? square / (square + machine.grain * machine.grain) : 0;
  double cores = 1 + (machine.cores - 1) * machine.spread * share;
  return {seconds / cores, cores};
}

Duration stepDuration(const Machine &machine, const Operation &operation) {
  Duration duration = spreadOverCores(machine, workSeconds(machine, operation));
  duration.seconds += machine.launch;
  return duration;
}

double capacityOf(const Machine &machine) { return 1 + (machine.cores - 1) * machine.spread; }

double productPeak(const Machine &machine, program::ElementType type) {
  size_t index = typeIndex(type);
  return index < machine.products.size() ? machine.products[index].rate * capacityOf(machine) : 0;
}

double transferSeconds(const Machine &machine, double bytes) { return machine.latency + bytes / machine.link; }

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
