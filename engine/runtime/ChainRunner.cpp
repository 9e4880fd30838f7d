// Runs chains of steps on the workers of a oneTBB arena, each as soon as its predecessors are done.
#include "engine/runtime/ChainRunner.h"

#include "engine/device/WorkOffers.h"

#include <chrono>
#include <exception>
#include <thread>

namespace npar::engine {

namespace {

/// Time that an idle worker stays awake. Most of the work of a single worker between steps that are shared is shorter.
constexpr std::chrono::microseconds longestWatch{150};

/// The chains that this thread, as a worker of `runner`, has made ready and not yet offered. A worker that waits within a chain may run
/// another chain, of any runner; the inner call leaves the list as long as it found it.
struct Worker {
  const ChainRunner *runner = nullptr;
  std::vector<uint32_t> ready;
};
thread_local Worker worker;

} // namespace

ChainRunner::ChainRunner(tbb::task_arena &arena, uint32_t chains, const std::vector<std::pair<uint32_t, uint32_t>> &edges, Body body)
    : arena(arena), end(chains), body(std::move(body)), firstSuccessor(size_t(chains) + 2), predecessors(size_t(chains) + 1),
      waiting(size_t(chains) + 1), offered(size_t(chains) + 1) {
  for (const auto &edge : edges)
    ++firstSuccessor[edge.first + 1];
  for (uint32_t chain = 0; chain < chains; ++chain)
    if (firstSuccessor[chain + 1] == 0)
      firstSuccessor[chain + 1] = 1;
  for (uint32_t chain = 0; chain <= chains; ++chain)
    firstSuccessor[chain + 1] += firstSuccessor[chain];
  successors.assign(firstSuccessor[chains], end);
  std::vector<uint32_t> place(firstSuccessor.begin(), firstSuccessor.end() - 1);
  for (const auto &[from, to] : edges)
    successors[place[from]++] = to;
  for (uint32_t to : successors)
    ++predecessors[to];
  for (uint32_t chain = 0; chain <= chains; ++chain) {
    waiting[chain].store(predecessors[chain], std::memory_order_relaxed);
    if (predecessors[chain] == 0)
      sources.push_back(chain);
  }
}

auto ChainRunner::task(uint32_t chain) {
  HandOver &from = offered[chain];
  from.give();
  return [this, chain, &from]() NPAR_TAKES_OVER {
    from.take();
    work(chain);
  };
}

void ChainRunner::run() {
  last = group.defer([] {});
  lastTaken = false;
  std::exception_ptr thrown;
  try {
    for (uint32_t chain : sources)
      group.run(task(chain));
  } catch (...) {
    thrown = std::current_exception();
    abandon();
  }
  try {
    group.wait(); // for all tasks, and with them for all workers
  } catch (...) {
    thrown = std::current_exception();
  }
  ended.take();
  while (visitors.load(std::memory_order_acquire) > 0)
    std::this_thread::yield();
  if (thrown)
    std::rethrow_exception(thrown);
}

void ChainRunner::abandon() {
  broken.store(true, std::memory_order_release);
  if (!lastTaken.exchange(true))
    last = tbb::task_handle();
}

void ChainRunner::release(uint32_t chain) {
  if (broken.load(std::memory_order_acquire))
    return;
  const bool visits = worker.runner != this;
  if (visits)
    visitors.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t e = firstSuccessor[chain]; e < firstSuccessor[chain + 1]; ++e) {
    uint32_t to = successors[e];
    if (waiting[to].fetch_sub(1, std::memory_order_acq_rel) > 1)
      continue;
    waiting[to].store(predecessors[to], std::memory_order_relaxed);
    if (visits) {
      arena.enqueue(group.defer(task(to)));
      WorkOffers::add();
    } else {
      worker.ready.push_back(to);
    }
  }
  if (visits)
    visitors.fetch_sub(1, std::memory_order_release);
}

void ChainRunner::work(uint32_t chain) {
  const ChainRunner *outer = worker.runner;
  const size_t before = worker.ready.size();
  worker.runner = this;
  try {
    workThrough(chain);
  } catch (...) {
    worker.ready.resize(before);
    worker.runner = outer;
    abandon();
    ended.give();
    throw;
  }
  worker.runner = outer;
  ended.give();
}

void ChainRunner::workThrough(uint32_t chain) {
  std::vector<uint32_t> &ready = worker.ready;
  const size_t before = ready.size();
  while (chain != end) {
    if (body(chain))
      release(chain);
    if (ready.size() == before)
      break;
    chain = ready.back();
    for (ready.pop_back(); ready.size() > before; ready.pop_back()) {
      group.run(task(ready.back()));
      WorkOffers::add();
    }
  }
  if (chain == end && !lastTaken.exchange(true)) {
    WorkOffers::add(); // nothing comes any more
    group.run(std::move(last));
  }
}

/// The task does no work: it keeps its thread from sleeping, and ends when there may be some, which oneTBB then finds at once. It gives way
/// to every other thread that wants the processor.
void ChainRunner::keepAwake() {
  if (watching.load(std::memory_order_relaxed) >= arena.max_concurrency() - 1)
    return;
  watching.fetch_add(1, std::memory_order_relaxed);
  group.run([this, seen = WorkOffers::count()]() NPAR_TAKES_OVER {
    const auto end = std::chrono::steady_clock::now() + longestWatch;
    while (WorkOffers::count() == seen && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    watching.fetch_sub(1, std::memory_order_relaxed);
  });
}

} // namespace npar::engine
