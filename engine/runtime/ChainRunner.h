// Runs chains of steps on the workers of a oneTBB arena, each as soon as all that it waits for is done.
#pragma once

#include "engine/device/HandOver.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <vector>

namespace npar::engine {

/// A graph of chains that is run again and again. Each counts what it waits for; a worker that has ended a chain goes on with one that this
/// made ready and offers the others to the arena, so most chains cost a count and no task. A flow graph of oneTBB does the same with a task
/// and a virtual call for each edge: measured in NOTES.md.
class ChainRunner {
public:
  /// Runs a chain on the calling worker. False: it goes on elsewhere, and somebody calls `release` when it has ended.
  using Body = std::function<bool(uint32_t chain)>;

  /// `edges`: from chain to chain, without cycles; one that is given twice counts twice.
  ChainRunner(tbb::task_arena &arena, uint32_t chains, const std::vector<std::pair<uint32_t, uint32_t>> &edges, Body body);

  /// Runs all chains, and returns when each has been released and no other thread is in a call of this or of a body any more: then whatever
  /// they look at may go. Called within the arena.
  void run();

  /// The chain has ended. On any thread, also within its own body; runs nothing itself.
  void release(uint32_t chain);

  /// A body calls it when a step's parts were shared among the workers: one that is idle looks for a moment whether more is offered before
  /// it goes to sleep. What comes between two such steps is often shorter than waking up, which takes about 60 microseconds.
  void keepAwake();

private:
  /// What oneTBB is given to run a chain, after all that this thread has done so far.
  auto task(uint32_t chain);
  void work(uint32_t chain);

  tbb::task_arena &arena;
  uint32_t end; ///< stands for a chain that waits for all that nobody else waits for
  Body body;
  std::vector<uint32_t> firstSuccessor, successors; ///< by chain
  std::vector<uint32_t> predecessors, sources;
  std::vector<std::atomic<uint32_t>> waiting; ///< by chain: how many predecessors are still to be released; full again when it runs
  std::atomic<int> watching{0};               ///< workers that are asked to stay awake, or do
  std::atomic<int> visitors{0};               ///< threads in `release` that are none of its workers
  tbb::task_group group;
  tbb::task_handle last;         ///< keeps the group waiting until it is run
  std::vector<HandOver> offered; ///< by chain
  HandOver ended;
};

} // namespace npar::engine
