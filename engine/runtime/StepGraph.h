// The program expanded for every rank of this session: one node per step instance, with addresses and edges. Pure data, no TBB.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/runtime/LocalRanks.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

constexpr uint32_t noIndex = ~uint32_t{0};

/// One step of one task on one rank; or a join of the compute chain (step == noIndex), which does nothing.
struct StepNode {
  program::StepKind kind = program::StepKind::Kernel;
  uint32_t rank = 0, local = 0; ///< rank in the world; its place in StepGraph::ranks
  uint32_t task = 0, step = noIndex, micro = 0;
  uint32_t payload = 0, label = 0;
  uint32_t firstBuffer = 0; ///< index in StepGraph::buffers of its inputs, then outputs
  uint16_t inputs = 0, outputs = 0;
  uint64_t bytes = 0;      ///< bytes of all operands
  uint64_t firstBytes = 0; ///< bytes of the first operand
  double seconds = 0;      ///< planned duration
  bool joins() const { return step == noIndex; }
  bool communicates() const {
    return !joins() && (kind == program::StepKind::Collective || kind == program::StepKind::Send || kind == program::StepKind::Receive);
  }
};

struct StepGraph {
  std::vector<LocalRank> ranks; ///< the ranks that run these steps
  std::vector<StepNode> nodes;
  std::vector<DeviceAddress> buffers;
  std::vector<uint32_t> firstSuccessor; ///< nodes + 1 entries into successors
  std::vector<uint32_t> successors;
  std::vector<uint32_t> predecessorCount;
};

/// Expands fragments x tasks x ranks of this session. Edges: fragment dependencies, task dependencies, and the compute chain: all steps of
/// a task except Send, Receive and free collectives wait for those of the rank's previous task. The program must have been verified.
StepGraph expandProgram(const program::Program &program, const std::vector<LocalRank> &ranks);

/// The next node, by node, for the same worker: it has no other predecessor, and this node no other successor; noIndex if no node can
/// follow so. `detaches`, by node: true if the node is still running when its worker leaves it, so nothing can directly follow it.
std::vector<uint32_t> chainsOf(const StepGraph &graph, const std::vector<bool> &detaches);

/// `rank 3, task B0:1, step 12 'all_reduce h.3.attn' (gpt2.npar:14:3)`.
std::string describeNode(const program::Program &program, const StepNode &node);

} // namespace npar::engine
