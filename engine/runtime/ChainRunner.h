// Runs chains of steps on the workers of a oneTBB arena, each as soon as its predecessors are done.
#pragma once

#include "engine/device/HandOver.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <vector>

namespace npar::engine {

/// A graph of chains that runs many times. Each chain counts its unfinished predecessors. A worker that ends a chain continues with one
/// that this made ready and offers the others to the arena, so most chains cost a counter and no task. A oneTBB flow graph does the same
/// with a task and a virtual call for each edge: see the measurements in NOTES.md.
class ChainRunner {
public:
  /// Runs a chain on the calling worker. False: its last step is still running elsewhere, and `release` will be called when it has ended.
  using Body = std::function<bool(uint32_t chain)>;

  /// `edges`: from chain to chain, without cycles; an edge that is given twice counts twice.
  ChainRunner(tbb::task_arena &arena, uint32_t chains, const std::vector<std::pair<uint32_t, uint32_t>> &edges, Body body);

  /// Runs all chains. Returns after each chain is released and no other thread is still in a call of this object or in a body, so
  /// everything that they use can be destroyed. Call it within the arena.
  ///
  /// If a body throws, or there is no memory for a task, it waits for the chains that have begun, starts no other one, and throws that
  /// exception. Then this object can only be destroyed.
  void run();

  /// Reports the end of a chain. Can be called on any thread, also within the chain's own body; runs no chain itself.
  void release(uint32_t chain);

  /// Called by a body after a step's parts were shared among the workers: an idle worker then waits briefly for more parts before it
  /// sleeps. The time between two such steps is often shorter than a wake-up, which takes about 60 microseconds.
  void keepAwake();

private:
  /// The oneTBB task that runs a chain, ordered after everything that this thread has done so far.
  auto task(uint32_t chain);
  void work(uint32_t chain);
  void workThrough(uint32_t chain);
  /// Ends the run before all chains are done.
  void abandon();

  tbb::task_arena &arena;
  uint32_t end; ///< number of an additional chain, which waits for all chains that have no other successor
  Body body;
  std::vector<uint32_t> firstSuccessor, successors; ///< by chain
  std::vector<uint32_t> predecessors, sources;
  std::vector<std::atomic<uint32_t>> waiting; ///< by chain: number of predecessors not yet released; reset when the chain becomes ready
  std::atomic<int> watching{0};               ///< workers that stay awake, or were asked to
  std::atomic<int> visitors{0};               ///< threads in `release` that are not workers of this runner
  tbb::task_group group;
  tbb::task_handle last;         ///< keeps the group waiting until it is run or destroyed
  std::atomic<bool> lastTaken{false}, broken{false};
  std::vector<HandOver> offered; ///< by chain
  HandOver ended;
};

} // namespace npar::engine
