// Routed rows: bytes between processes are those of existing rows, and ends that are damaged or disagree end the job.
#include "tests/engine/comm/RoutedRows.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/comm/local/LocalCommunicator.h"
#include "engine/comm/process/Frames.h"
#include "tests/engine/comm/process/ProcessWorld.h"

#include <gtest/gtest.h>
#include <limits>

namespace npar::testing {
namespace {

/// All ranks in one process, or in turn in each of several.
World makeWorld(size_t processes, std::shared_ptr<ProcessWorld> &made) {
  World world;
  if (processes == 1) {
    struct Local {
      CpuBackend backend{Spread{1, true}};
      LocalCommunicator communicator{backend};
    };
    auto local = std::make_shared<Local>();
    world = {{{&local->backend, &local->communicator}}, local};
  } else {
    made = std::make_shared<ProcessWorld>(processes);
    world.parts = made;
    for (size_t process = 0; process < processes; ++process)
      world.sessions.push_back({made->backends[process].get(), made->communicators[process].get()});
  }
  world.prepare();
  return world;
}

// Members 0 to 3 are ranks 1, 4, 7 and 10: with two processes two are in each, with four one is. The number of rows changes with every
// turn.
TEST(RoutedRowsTest, onlyExistingRowsAreSent) {
  for (size_t processes : {2, 4})
    for (uint32_t seed = 1; seed <= 6; ++seed) {
      std::shared_ptr<ProcessWorld> made;
      World world = makeWorld(processes, made);
      RoutedRows routed(world, 4, seed % 2, 1, 7, seed);
      made->queues.network->forgetTraffic();
      routed.run();
      for (size_t r = 0; r < 4; ++r)
        EXPECT_EQ(routed.group.output[r], routed.piece(r, !routed.concatFirst, 0)) << "rank " << r;
      for (size_t from = 0; from < processes; ++from)
        for (size_t to = 0; to < processes; ++to) {
          uint64_t bytes = Frame::bytes;
          for (size_t i = 0; i < 4; ++i)
            for (size_t j = 0; j < 4; ++j)
              if (static_cast<size_t>(routed.group.members[i]) % processes == from &&
                  static_cast<size_t>(routed.group.members[j]) % processes == to)
                bytes += routed.elements(i, j) * sizeof(int32_t);
          EXPECT_EQ(made->queues.network->bytesSent(from, to), from == to ? 0 : bytes);
        }
    }
}

// The plan of an exchange is kept from turn to turn; the rows are those of the turn.
TEST(RoutedRowsTest, eachTurnHasItsOwnRows) {
  std::shared_ptr<ProcessWorld> made;
  World world = makeWorld(2, made);
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    RoutedRows routed(world, 4, true, 2, 16, seed);
    routed.run();
    for (size_t r = 0; r < 4; ++r)
      EXPECT_EQ(routed.group.output[r], routed.piece(r, false, 0)) << "turn " << seed << ", rank " << r;
  }
}

/// The members that see a change of the ends end with an error that has this text. Others in other processes may be complete before.
template <typename Damage> void expectRefused(size_t processes, Damage damage, const std::string &text) {
  std::shared_ptr<ProcessWorld> made;
  World world = makeWorld(processes, made);
  RoutedRows routed(world, 4, true, 1, 4, 3);
  damage(routed);
  for (size_t r = 0; r < 4; ++r)
    world.post(routed.operation(r));
  size_t refused = 0;
  for (Answer &answer : routed.group.answers) {
    ASSERT_TRUE(answer.done());
    if (answer.status.ok())
      continue;
    ++refused;
    EXPECT_NE(answer.status.message().find(text), std::string::npos) << processes << " processes: " << answer.status.message();
  }
  EXPECT_GE(refused, processes == 1 ? 4u : 2u);
}

TEST(RoutedRowsTest, damagedEndsAreRefused) {
  for (size_t processes : {1, 2, 4})
    for (int32_t end : {-1, int32_t(RoutedRows::places) + 1, std::numeric_limits<int32_t>::max()}) {
      expectRefused(
          processes, [&](RoutedRows &routed) { routed.inputEnds[2][5] = end; },
          "all_to_all of event 0, micro-batch 0: rank 7 has an expert whose rows end outside of their piece of 5 places");
      expectRefused(
          processes, [&](RoutedRows &routed) { routed.outputEnds[1][3] = end; },
          "all_to_all of event 0, micro-batch 0: rank 4 has an expert whose rows end outside of their piece of 5 places");
    }
}

// No length is trusted that only one side has. The first sample of rank 1 or of rank 4; with two processes rank 4 is in that of rank 10.
TEST(RoutedRowsTest, membersThatSeeDifferentRowsAreRefused) {
  auto change = [](size_t member) {
    return [member](RoutedRows &routed) {
      int32_t &end = routed.outputEnds[3][member * RoutedRows::blockB * RoutedRows::c];
      end = end == 0 ? 1 : 0;
    };
  };
  expectRefused(1, change(0), "all_to_all of event 0, micro-batch 0: rank 1 has ");
  expectRefused(1, change(0), " rows for rank 10, which expects ");
  expectRefused(2, change(1), " rows for rank 10, which expects ");
  for (size_t processes : {2, 4})
    expectRefused(processes, change(0), "all_to_all: members disagree: rank ");
  expectRefused(4, change(0), " see different numbers of rows");
}

} // namespace
} // namespace npar::testing
