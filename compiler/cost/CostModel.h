// How long steps and messages take on a machine: the numbers that stage balance and the planned timeline are made from.
#pragma once

#include "engine/program/Enums_generated.h"

namespace npar::cost {

/// What one rank has to itself, and what joins ranks. The defaults describe one core of the reference machine with ranks in one process.
struct Machine {
  double matmulFlops = 250e9; ///< flops/s of float32 matrix products
  double vectorFlops = 8e9;   ///< flops/s of everything else
  double memoryBytes = 10e9;  ///< bytes/s of memory
  double linkBytes = 10e9;    ///< bytes/s of one direction between two ranks
  double linkLatency = 2e-6;  ///< seconds before the first byte arrives
};

enum class Work { Matmul, Vector };

/// Seconds of a step that computes `flops` and moves `bytes` through memory (roofline: the slower of both).
double stepSeconds(const Machine &machine, Work work, double flops, double bytes);

/// Seconds of a message from one rank to another.
double transferSeconds(const Machine &machine, double bytes);

/// Seconds of a collective of `members` ranks by the ring algorithm (Thakur et al. 2005, "Optimization of collective communication
/// operations in MPICH", section 4). `bytes` is the whole vector: the input of all_reduce, reduce_scatter and all_to_all, the result of
/// all_gather; the piece of permute, which is one message.
double collectiveSeconds(const Machine &machine, program::CollectiveKind kind, double bytes, int members);

} // namespace npar::cost
