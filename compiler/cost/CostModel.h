// How long steps and messages take on a machine: what stage balance and the planned timeline are made from. The figures are the machine's
// (dsl/machine/Machine.h); nothing here has numbers of its own.
#pragma once

#include "dsl/machine/Machine.h"
#include "engine/program/Enums_generated.h"

#include <vector>

namespace npar::cost {

using dsl::LinkLevel;
using dsl::Machine;

enum class Work { Kernel, Product, Attention, AttentionGradient, Move };

/// The work of a step on one rank.
struct Operation {
  Work work = Work::Kernel;
  program::ElementType type = program::ElementType::F32; ///< for a kernel the widest type that it computes in
  double bytes = 0;                                      ///< Kernel, Product: of all operands; Move: written
  double operations = 0;      ///< Product, Attention: floating-point operations; Kernel: operations, each times its elements
  double functions = 0;       ///< Kernel: how many of these are exponentials and similar functions
  double m = 0, n = 0, k = 0; ///< Product: of one of its batch; Attention: m, the rows of queries
  bool tf32 = false;          ///< Product: of float32, whose operands are rounded to TF32
};

/// Seconds of the work alone on one core, without the launch. It is linear in the times that the machine's figures stand for (inverses of
/// rates); fitting the figures relies on this:
///
///   Product     operations / rate * (1 + rows / m + columns / n + depth / k), of devices at least bytes / far; of float64: as a kernel.
///               Where a device has units and tiles, the 1 is rounds * units * tile / (batch * m * n): rounds = ceil(tiles / units), tiles
///               = batch * ceil(m / tile rows) * ceil(n / tile columns), the best of the tile, the same turned, and those halved once or
///               twice, each of which has `halved` of the rate of the larger one (NVIDIA, "Matrix Multiplication Background User's Guide",
///               tile and wave quantization)
///   Attention   operations / rate * (1 + rows / m)
///   Kernel      operations * operation + functions * function (both twice in float64) + bytes of the core's own cache / its bandwidth
///               + near bytes / near + the rest / far
///   Move        bytes / move
double workSeconds(const Machine &machine, const Operation &operation);

/// A step in a timeline: its length if the rank has the machine to itself, and the average number of cores that it keeps busy.
struct Duration {
  double seconds = 0, cores = 1;
};

/// Spreads work of w seconds on one core: it runs as on 1 + (cores - 1) spread w^2 / (w^2 + grain^2) cores, because the engine divides only
/// steps above some length among cores.
Duration spreadOverCores(const Machine &machine, double seconds);

/// launch + workSeconds, spread.
Duration stepDuration(const Machine &machine, const Operation &operation);

/// The number of cores that a step of length `seconds`, as returned by `stepDuration`, keeps busy.
double coresOf(const Machine &machine, double seconds);

/// The number of cores' work that the machine does at once; less than its number of cores if each additional core adds less.
double capacityOf(const Machine &machine);

/// The machine as each of `ranks` ranks on it sees it: with many ranks, steps are not spread over cores (engine/runtime/WorkerCount).
Machine machineOfRanks(Machine machine, double ranks);

/// FLOP/s of large products that keep the whole machine busy; 0 for float64, which has no measured figures. `tf32`: float32 products whose
/// operands are rounded to TF32.
double productPeak(const Machine &machine, program::ElementType type, bool tf32 = false);

/// The factor by which a product [m, k] x [k, n] is slower than a large one, apart from tiles: the rows, columns and depth of
/// `workSeconds`. 1 for float64.
double productEdges(const Machine &machine, program::ElementType type, bool tf32, double m, double n, double k);

/// FLOP/s that the maker of a device states; 0 if there is no such figure.
double statedPeak(const Machine &machine, program::ElementType type, bool tf32 = false);

/// How a group of ranks is spread over hosts. A group on a single host has level Host or Pair.
struct GroupSpan {
  int members = 1;
  LinkLevel level = LinkLevel::Host; ///< the farthest level that its messages cross
  double inside = 1;                 ///< mean number of members per host, or per rack if there are racks and `level` is farther
  static GroupSpan ofHost(int members) { return {members, LinkLevel::Host, double(members)}; }
};

/// The nearest level with figures, starting at `level`; if no farther level has any, the farthest one that has.
const dsl::LinkFigures &linkOf(const Machine &machine, LinkLevel level);

/// The level at which members are close together in a group that spans `level`: racks if the machine has them, otherwise hosts.
LinkLevel nearerLevel(const Machine &machine, LinkLevel level);

/// Seconds of a message from one rank to another.
double transferSeconds(const Machine &machine, double bytes, LinkLevel level = LinkLevel::Host);

/// Seconds of a collective. `bytes` is the whole vector: the input of all_reduce, reduce_scatter and all_to_all, the result of all_gather;
/// the piece of permute, which is one message. With n members (Thakur et al. 2005, "Optimization of collective communication operations in
/// MPICH", sections 3 and 4):
///
///   log2 n latencies, and (n - 1) / n of the vector over the links of each; an all-reduce is a reduce-scatter and an all-gather
///
/// or, where the level has the figures, as NCCL's rings and double binary trees (its own model of their times: NCCL, src/graph/tuning.cc;
/// Sanders et al. 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan"):
///
///   `hop`     a ring takes one latency and n - 1 hops, of which those from host to host are over the farther level
///   `tree`    an all-reduce may go up a tree and down again: along the members of a host, then log2 of the hosts, and the vector at that
///             share of the bandwidth, each twice
///   `reduce`  an all-reduce may be summed by the network: two latencies, and the vector once through it
///
/// The fastest counts. An all-to-all, whose messages do not wait for each other, has no hops; for its links see Exchange.h.
/// If members are spread over several hosts (racks), the members on one host (in one rack) have separate links to the farther level, which
/// then carries `inside` times as much.
double collectiveSeconds(const Machine &machine, program::CollectiveKind kind, double bytes, const GroupSpan &span);

/// The share of a level's link capacity that a collective demands while it runs.
struct LinkUse {
  LinkLevel level = LinkLevel::Host;
  double share = 1;
};
std::vector<LinkUse> linksOf(const Machine &machine, const GroupSpan &span);

} // namespace npar::cost
