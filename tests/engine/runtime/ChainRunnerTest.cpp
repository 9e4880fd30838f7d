// Every chain runs once, after its predecessors, for any number of workers and wherever chains end.
#include "engine/runtime/ChainRunner.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

using namespace npar::engine;

namespace {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

/// Forward edges only, so there are no cycles; some of them twice.
Edges randomEdges(uint32_t chains, std::mt19937 &random) {
  Edges edges;
  for (uint32_t to = 1; to < chains; ++to)
    for (uint32_t count = random() % 4; count > 0; --count)
      edges.emplace_back(random() % to, to);
  return edges;
}

/// Ends chains that workers have left, on a thread of its own and in no order.
class Elsewhere {
public:
  explicit Elsewhere(ChainRunner *&runner) : thread([this, &runner] { serve(runner); }) {}
  ~Elsewhere() {
    push(~0u);
    thread.join();
  }
  void push(uint32_t chain) {
    std::lock_guard<std::mutex> lock(mutex);
    chain % 2 ? left.push_back(chain) : left.push_front(chain);
    wake.notify_one();
  }

private:
  void serve(ChainRunner *&runner) {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return !left.empty(); });
      uint32_t chain = left.front();
      left.pop_front();
      lock.unlock();
      if (chain == ~0u)
        return;
      runner->release(chain);
    }
  }
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<uint32_t> left;
  std::thread thread;
};

/// `leaves`: one chain in this many is ended by another thread; 0 for none. `awake`: one in this many keeps an idle worker awake.
void runRandomGraph(uint32_t chains, int threads, uint32_t leaves, unsigned seed, uint32_t awake = 0) {
  std::mt19937 random(seed);
  Edges edges = randomEdges(chains, random);
  std::vector<std::vector<uint32_t>> predecessors(chains);
  for (const auto &[from, to] : edges)
    predecessors[to].push_back(from);
  std::vector<std::atomic<int>> runs(chains);
  tbb::task_arena arena(threads, 1);
  ChainRunner *known = nullptr;
  Elsewhere elsewhere(known);
  int round = 0;
  std::atomic<int> early{0};
  ChainRunner runner(arena, chains, edges, [&](uint32_t chain) {
    for (uint32_t before : predecessors[chain])
      early += runs[before] != round;
    ++runs[chain];
    if (awake > 0 && chain % awake == 0)
      known->keepAwake();
    if (leaves == 0 || chain % leaves != 0)
      return true;
    elsewhere.push(chain);
    return false;
  });
  known = &runner;
  for (round = 1; round <= 20; ++round) {
    arena.execute([&] { runner.run(); });
    for (uint32_t chain = 0; chain < chains; ++chain)
      ASSERT_EQ(runs[chain], round) << "chain " << chain << ", seed " << seed;
  }
  EXPECT_EQ(early, 0);
}

TEST(ChainRunner, eachChainRunsOnceAndAfterItsPredecessors) {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (int threads : {1, 2, 5})
      runRandomGraph(1 + seed * 17, threads, 0, seed);
}

TEST(ChainRunner, chainsMayEndOnOtherThreads) {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (int threads : {1, 2, 5})
      runRandomGraph(1 + seed * 17, threads, 1 + seed % 3, seed);
}

/// Who is asked to stay awake delays nothing for ever: also where the last chain asks, or one of many rounds that follow at once.
TEST(ChainRunner, workersMayBeKeptAwake) {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (int threads : {1, 2, 5})
      runRandomGraph(1 + seed * 17, threads, seed % 3, seed, 1 + seed % 2);
}

TEST(ChainRunner, aChainMayBeReleasedWithinItsOwnBody) {
  tbb::task_arena arena(1, 1);
  ChainRunner *known = nullptr;
  std::vector<uint32_t> order;
  ChainRunner runner(arena, 3, {{0, 1}, {1, 2}}, [&](uint32_t chain) {
    order.push_back(chain);
    known->release(chain);
    return false;
  });
  known = &runner;
  arena.execute([&] { runner.run(); });
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2}));
}

/// A chain of one runner ends a chain of another, whose arena is not the worker's.
TEST(ChainRunner, oneRunnerMayReleaseForAnother) {
  tbb::task_arena first(1, 1), second(1, 1);
  std::atomic<bool> started{false};
  std::atomic<int> ended{0};
  ChainRunner waits(second, 2, {{0, 1}}, [&](uint32_t chain) {
    ended += chain == 1;
    started = true;
    return chain == 1;
  });
  std::thread other([&] { second.execute([&] { waits.run(); }); });
  while (!started)
    std::this_thread::yield();
  ChainRunner ends(first, 1, {}, [&](uint32_t) {
    waits.release(0);
    return true;
  });
  first.execute([&] { ends.run(); });
  other.join();
  EXPECT_EQ(ended, 1);
}

TEST(ChainRunner, withoutChainsItReturns) {
  tbb::task_arena arena(2, 1);
  ChainRunner runner(arena, 0, {}, [](uint32_t) { return true; });
  for (int round = 0; round < 3; ++round)
    arena.execute([&] { runner.run(); });
}

/// Runs a random graph where one chain throws, and returns how many chains ran.
uint32_t runUntilThrown(uint32_t chains, int threads, uint32_t bad, unsigned seed) {
  std::mt19937 random(seed);
  tbb::task_arena arena(threads, 1);
  std::atomic<uint32_t> ran{0};
  ChainRunner runner(arena, chains, randomEdges(chains, random), [&](uint32_t chain) {
    if (chain == bad)
      throw std::runtime_error("chain " + std::to_string(chain));
    ++ran;
    return true;
  });
  try {
    arena.execute([&] { runner.run(); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error &error) {
    EXPECT_EQ(error.what(), "chain " + std::to_string(bad));
  }
  return ran;
}

TEST(ChainRunner, ThrowsWhatAChainThrows) {
  for (int threads : {1, 2, 4})
    for (uint32_t bad : {0u, 1u, 50u, 99u})
      for (unsigned seed = 0; seed < 20; ++seed)
        EXPECT_LT(runUntilThrown(100, threads, bad, seed), 100u);
}

} // namespace
