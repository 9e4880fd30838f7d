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

/// What a step does on one rank.
struct Operation {
  Work work = Work::Kernel;
  program::ElementType type = program::ElementType::F32; ///< of a kernel the widest that it computes in
  double bytes = 0;                                      ///< Kernel, Product: of all operands; Move: written
  double operations = 0;      ///< Product, Attention: floating-point operations; Kernel: operations, each times its elements
  double functions = 0;       ///< Kernel: those of them that are exponentials or the like
  double m = 0, n = 0, k = 0; ///< Product: of one of its batch; Attention: m, the rows of queries
  bool tf32 = false;          ///< Product: of float32, whose operands are rounded to TF32
};

/// Seconds of the work alone, without the launch, on one core. All of it is linear in the figures' times (rates: their inverses), which is
/// what fitting them relies on:
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

/// A step as the timeline knows it: how long it takes where the rank has the machine to itself, and how many cores' work it does meanwhile.
struct Duration {
  double seconds = 0, cores = 1;
};

/// Of work of w seconds on one core: it does the work of 1 + (cores - 1) spread w^2 / (w^2 + grain^2) cores, for the engine cuts steps from
/// some length on.
Duration spreadOverCores(const Machine &machine, double seconds);

/// launch + workSeconds, spread.
Duration stepDuration(const Machine &machine, const Operation &operation);

/// The cores that a step of so many seconds, as `stepDuration` gives them, keeps busy.
double coresOf(const Machine &machine, double seconds);

/// The cores' work that the machine does at once: below its number of cores where each further one adds less.
double capacityOf(const Machine &machine);

/// The machine as one of so many ranks on it finds it: where there are many, steps are not spread over cores (engine/runtime/WorkerCount).
Machine machineOfRanks(Machine machine, double ranks);

/// FLOP/s of large products that keep the whole machine busy; 0 for float64, of which no figures are measured. `tf32`: of float32, whose
/// operands are rounded to TF32.
double productPeak(const Machine &machine, program::ElementType type, bool tf32 = false);

/// FLOP/s that the maker of a device states; 0: nobody does.
double statedPeak(const Machine &machine, program::ElementType type, bool tf32 = false);

/// Where the members of a group of ranks stand. A group inside a host has one host.
struct GroupSpan {
  int members = 1;
  LinkLevel level = LinkLevel::Host; ///< the farthest that a message of the group goes over
  double inside = 1;                 ///< members on a host: of several hosts the mean; of racks where there are some and `level` is farther
  static GroupSpan ofHost(int members) { return {members, LinkLevel::Host, double(members)}; }
};

/// The nearest level that the machine has, `level` or a farther one; the farthest that it has where there is none.
const dsl::LinkFigures &linkOf(const Machine &machine, LinkLevel level);

/// What a group that reaches over `level` has inside: racks where the machine has them, else hosts.
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
/// The fastest counts. An all-to-all, whose messages do not wait for each other, has no hops.
/// Where members stand on several hosts (racks), those on a host (in a rack) send over links of their own: the farther level carries
/// `inside` times as much.
double collectiveSeconds(const Machine &machine, program::CollectiveKind kind, double bytes, const GroupSpan &span);

/// Of what a level's links carry, the share that a collective wants while it runs.
struct LinkUse {
  LinkLevel level = LinkLevel::Host;
  double share = 1;
};
std::vector<LinkUse> linksOf(const Machine &machine, const GroupSpan &span);

} // namespace npar::cost
