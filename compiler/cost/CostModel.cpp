// Times of steps from the machine's figures, latency-bandwidth times of messages and of collectives: rings, trees, the network itself.
#include "compiler/cost/CostModel.h"

#include "compiler/cost/Exchange.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace npar::cost {

static size_t typeIndex(program::ElementType type) { return program::rowOf(type).machineIndex; }

/// The figures of products in a type that has some. A machine without any of TF32 multiplies it as float32.
static const dsl::ProductFigures &productFigures(const Machine &machine, program::ElementType type, bool tf32) {
  return tf32 && type == program::ElementType::F32 && machine.tf32.rate > 0 ? machine.tf32 : machine.products[typeIndex(type)];
}

/// The relative cost of an edge effect; 0 if the length of the side is unknown.
static double edge(double figure, double side) { return side > 0 ? figure / side : 0; }

/// `factor`, and the relative cost of the edges of a product [m, k] x [k, n].
static double withEdges(double factor, const dsl::ProductFigures &product, double m, double n, double k) {
  return factor + edge(product.rows, m) + edge(product.columns, n) + edge(product.depth, k);
}

/// The factor by which a product takes longer because units compute whole tiles and idle in the last round ("wave quantization"). Tiles can
/// be transposed and halved up to twice; the best shape counts.
static double tiling(const Machine &machine, const dsl::ProductFigures &product, const Operation &op) {
  if (machine.units <= 0 || product.tileRows <= 0 || product.tileColumns <= 0 || op.m <= 0 || op.n <= 0 || op.k <= 0)
    return 1;
  double batch = op.operations / (2 * op.m * op.n * op.k), best = 0, speed = 1;
  double longer = std::max(product.tileRows, product.tileColumns), shorter = std::min(product.tileRows, product.tileColumns);
  for (int halving = 0; halving <= 2 && speed > 0; ++halving, speed *= product.halved) {
    for (auto [rows, columns] : {std::pair(longer, shorter), std::pair(shorter, longer)}) {
      double rounds = std::ceil(batch * std::ceil(op.m / rows) * std::ceil(op.n / columns) / machine.units);
      double longest = rounds * machine.units * rows * columns / (batch * op.m * op.n) / speed;
      best = best > 0 ? std::min(best, longest) : longest;
    }
    longer /= 2;
    if (longer < shorter)
      std::swap(longer, shorter);
  }
  return best;
}

/// Seconds for a kernel's operands: the part that fits in the core's cache at its bandwidth, the next part in near memory, the rest in far
/// memory.
static double operandSeconds(const Machine &machine, double bytes) {
  double own = machine.cache.bandwidth > 0 ? std::min(bytes, machine.cache.size) : 0;
  double near = std::max(0.0, std::min(bytes, machine.nearSize) - own), far = bytes - own - near;
  return (own > 0 ? own / machine.cache.bandwidth : 0) + near / machine.near + far / machine.far;
}

double workSeconds(const Machine &machine, const Operation &op) {
  switch (op.work) {
  case Work::Product: {
    if (typeIndex(op.type) >= machine.products.size()) // a generated kernel
      return 2 * op.operations * machine.operation;
    const dsl::ProductFigures &product = productFigures(machine, op.type, op.tf32);
    double seconds = op.operations / product.rate * withEdges(tiling(machine, product, op), product, op.m, op.n, op.k);
    return machine.kind == dsl::MachineKind::Device ? std::max(seconds, op.bytes / machine.far) : seconds;
  }
  case Work::Attention:
  case Work::AttentionGradient: {
    const dsl::AttentionFigures &attention = (op.work == Work::Attention ? machine.attentions : machine.gradients)[typeIndex(op.type)];
    return op.operations / attention.rate * (1 + edge(attention.rows, op.m));
  }
  case Work::Kernel: {
    double wide = program::isWide(op.type) ? 2 : 1;
    return wide * (op.operations * machine.operation + op.functions * machine.function) + operandSeconds(machine, op.bytes);
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

double coresOf(const Machine &machine, double seconds) {
  double least = std::max(0.0, seconds - machine.launch), most = least * capacityOf(machine); // of the work on one core
  for (int halving = 0; halving < 40 && machine.cores > 1; ++halving)
    (spreadOverCores(machine, (least + most) / 2).seconds < seconds - machine.launch ? least : most) = (least + most) / 2;
  return spreadOverCores(machine, most).cores;
}

double capacityOf(const Machine &machine) { return 1 + (machine.cores - 1) * machine.spread; }

Machine machineOfRanks(Machine machine, double ranks) {
  if (machine.kind == dsl::MachineKind::Processor && ranks >= 2 * machine.cores)
    machine.cores = 1;
  return machine;
}

double productPeak(const Machine &machine, program::ElementType type, bool tf32) {
  return typeIndex(type) < machine.products.size() ? productFigures(machine, type, tf32).rate * capacityOf(machine) : 0;
}

double productEdges(const Machine &machine, program::ElementType type, bool tf32, double m, double n, double k) {
  return typeIndex(type) < machine.products.size() ? withEdges(1, productFigures(machine, type, tf32), m, n, k) : 1;
}

double statedPeak(const Machine &machine, program::ElementType type, bool tf32) {
  return typeIndex(type) < machine.products.size() ? productFigures(machine, type, tf32).peak : 0;
}

const dsl::LinkFigures &linkOf(const Machine &machine, LinkLevel level) {
  size_t place = static_cast<size_t>(level);
  for (size_t one = place; one < machine.links.size(); ++one)
    if (machine.links[one].bandwidth > 0)
      return machine.links[one];
  while (place > 0 && machine.links[place].bandwidth <= 0)
    --place;
  return machine.links[place];
}

LinkLevel nearerLevel(const Machine &machine, LinkLevel level) {
  const dsl::LinkFigures &rack = machine.link(LinkLevel::Rack);
  return level == LinkLevel::Cluster && rack.bandwidth > 0 && rack.hosts > 0 ? LinkLevel::Rack : LinkLevel::Host;
}

double transferSeconds(const Machine &machine, double bytes, LinkLevel level) {
  const dsl::LinkFigures &link = linkOf(machine, level);
  return link.latency + bytes / (link.message > 0 ? link.message : link.bandwidth);
}

/// Bytes/s at which a ring's members pass on what they have.
static double ringBandwidth(const Machine &machine, const GroupSpan &span) {
  double bandwidth = linkOf(machine, span.level).bandwidth;
  if (span.level <= LinkLevel::Host)
    return bandwidth;
  bandwidth *= span.inside;
  return span.inside > 1 ? std::min(bandwidth, linkOf(machine, nearerLevel(machine, span.level)).bandwidth) : bandwidth;
}

/// Seconds per hop over a level; the latency of a message if the machine states no hop.
static double hopOf(const dsl::LinkFigures &link) { return link.hop > 0 ? link.hop : link.latency; }

/// Seconds before a collective moves data, if its messages are counted as hops; otherwise 0.
static double startLatency(const dsl::LinkFigures &link) { return link.hop > 0 ? link.latency : 0; }

/// Seconds of latency in one pass around a ring.
static double ringLatency(const Machine &machine, const GroupSpan &span) {
  const dsl::LinkFigures &link = linkOf(machine, span.level);
  if (link.hop <= 0)
    return std::ceil(std::log2(span.members)) * link.latency;
  double steps = span.members - 1.0;
  if (span.level <= LinkLevel::Host)
    return steps * link.hop;
  double far = std::ceil(span.members / span.inside) - 1;
  return far * link.hop + (steps - far) * hopOf(linkOf(machine, nearerLevel(machine, span.level)));
}

/// Up a tree or down: along a chain inside each host, by halves between them.
static double treeLatency(const Machine &machine, const GroupSpan &span) {
  const dsl::LinkFigures &link = linkOf(machine, span.level);
  if (span.level <= LinkLevel::Host)
    return (span.members - 1.0) * hopOf(link);
  double hosts = std::ceil(span.members / span.inside);
  return std::ceil(std::log2(hosts)) * hopOf(link) + (span.inside - 1) * hopOf(linkOf(machine, nearerLevel(machine, span.level)));
}

static double allReduceSeconds(const Machine &machine, double bytes, const GroupSpan &span, double bandwidth) {
  const dsl::LinkFigures &link = linkOf(machine, span.level);
  double n = span.members;
  double best = 2 * (ringLatency(machine, span) + (n - 1) * bytes / n / bandwidth);
  if (link.tree > 0)
    best = std::min(best, 2 * (treeLatency(machine, span) + bytes / (bandwidth * link.tree)));
  best += startLatency(link);
  return link.reduce > 0 ? std::min(best, 2 * link.latency + bytes / link.reduce) : best;
}

double collectiveSeconds(const Machine &machine, program::CollectiveKind kind, double bytes, const GroupSpan &span) {
  if (span.members <= 1)
    return 0;
  double bandwidth = ringBandwidth(machine, span);
  double latency = startLatency(linkOf(machine, span.level)) + ringLatency(machine, span);
  switch (kind) {
  case program::CollectiveKind::Permute:
    return transferSeconds(machine, bytes, span.level);
  case program::CollectiveKind::AllReduce:
    return allReduceSeconds(machine, bytes, span, bandwidth);
  case program::CollectiveKind::AllToAll:
    return exchangeSeconds(machine, exchangedBytes(bytes, span), span);
  case program::CollectiveKind::AllGather:
  case program::CollectiveKind::ReduceScatter:
    break;
  }
  return latency + (span.members - 1) * bytes / span.members / bandwidth;
}

std::vector<LinkUse> linksOf(const Machine &machine, const GroupSpan &span) {
  double bandwidth = ringBandwidth(machine, span), far = linkOf(machine, span.level).bandwidth;
  if (span.level <= LinkLevel::Host)
    return {{span.level, 1}};
  std::vector<LinkUse> uses = {{span.level, bandwidth / (far * span.inside)}};
  LinkLevel nearer = nearerLevel(machine, span.level);
  if (span.inside > 1)
    uses.push_back({nearer, bandwidth / linkOf(machine, nearer).bandwidth});
  return uses;
}

} // namespace npar::cost
