// Contributions of all processes go up a tree and the complete set comes down: the same bytes for every process, and a number of messages
// that depends only on the number of processes.
#include "engine/comm/process/Gathering.h"
#include "tests/engine/comm/process/QueueProcesses.h"

#include <gtest/gtest.h>
#include <numeric>

namespace npar::testing {
namespace {

using namespace engine;
using Bytes = std::vector<uint8_t>;

TEST(ProcessTreeTest, holdsEachProcessOnceAndIsFlat) {
  for (auto [processes, hops] : {std::pair<uint32_t, uint32_t>(1, 0), {2, 1}, {17, 1}, {18, 2}, {200, 2}, {273, 2}, {274, 3}, {1024, 3}}) {
    std::vector<uint32_t> level(processes, 0), found(processes, 0);
    for (uint32_t process = 0; process < processes; ++process) {
      ProcessTree tree(processes, process);
      EXPECT_LE(tree.below.size(), ProcessTree::arity);
      uint32_t next = process + 1;
      for (const ProcessTree::Range &range : tree.below) {
        EXPECT_EQ(range.first, next) << "ranges follow each other";
        EXPECT_EQ(ProcessTree(processes, range.first).above, process);
        ++found[range.first];
        level[range.first] = level[process] + 1;
        next = range.first + range.count;
      }
      if (process == 0) {
        EXPECT_EQ(next, processes);
      }
    }
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0u), processes - 1);
    EXPECT_EQ(*std::max_element(level.begin(), level.end()), hops) << processes;
  }
}

using Given = std::vector<std::pair<uint32_t, Bytes>>; // times and bytes

Given given(const Bytes &packed, uint32_t processes) {
  Given all;
  bool sound = Contributions::read(packed, processes, [&](const Contributions::Run &run, const uint8_t *bytes) {
    all.emplace_back(run.times, run.dataTag == 0 ? Bytes(bytes, bytes + run.size) : Bytes{255});
  });
  return sound ? all : Given{};
}

TEST(ContributionsTest, takeRoomOnceWhereNeighboursGiveTheSame) {
  Contributions left, right;
  for (const Bytes &bytes : {Bytes{}, Bytes{}, Bytes{1, 2}, Bytes{1, 3}, Bytes{1, 3}})
    left.add(bytes);
  right.add({1, 3});
  right.addSentApart(2, 7);
  right.addSentApart(2, 7);
  right.add({});
  ASSERT_TRUE(left.append(right.take(), 4));
  Bytes packed = left.take();
  EXPECT_EQ(given(packed, 9), (Given{{2, {}}, {1, {1, 2}}, {3, {1, 3}}, {1, {255}}, {1, {255}}, {1, {}}}));
}

TEST(ContributionsTest, ofOtherBytesAreRefused) {
  Contributions contributions;
  for (const Bytes &bytes : {Bytes{1, 2, 3}, Bytes{1, 2, 3}, Bytes{4}})
    contributions.add(bytes);
  Bytes packed = contributions.take();
  EXPECT_FALSE(given(packed, 3).empty());
  EXPECT_TRUE(given(packed, 2).empty()) << "more than there are processes";
  EXPECT_TRUE(given(packed, 4).empty()) << "fewer";
  for (size_t size = 1; size < packed.size(); ++size)
    EXPECT_TRUE(given(Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size)), 3).empty()) << "cut at " << size;
}

/// Bytes of one process in one round.
Bytes someBytes(size_t size, uint32_t process, uint32_t round) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + process * 31 + round + (i >> 10));
  return bytes;
}

void inAll(QueueProcesses &processes, const std::function<void(uint32_t, ProcessGroup &)> &body) {
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < processes.groups.size(); ++process)
    threads.emplace_back([&, process] { body(process, *processes.groups[process]); });
  for (std::thread &thread : threads)
    thread.join();
}

uint64_t messagesOfAll(const QueueNetwork &network) {
  uint64_t sum = 0;
  for (size_t process = 0; process < network.processes(); ++process)
    sum += network.messagesSent(process);
  return sum;
}

// Trees of two and three levels; what fits in a frame, what follows as data, what goes straight to everyone, and all of these at once.
TEST(GatheringTest, givesAllTheBytesOfAllInDeepTrees) {
  for (auto [count, options] : {std::pair<size_t, QueueOptions>(20, {5, 0.0005, true}), {40, {6, 0.0005, false}}}) {
    QueueProcesses processes(count, options);
    inAll(processes, [&, count = count](uint32_t self, ProcessGroup &group) {
      uint32_t round = 0;
      for (size_t size : {0, 1, 20, 900, 5000, 17000, 1}) {
        auto bytesOf = [&](uint32_t process) { return someBytes(round % 2 ? size : size * (process % 5) / 4, process, round); };
        std::vector<Bytes> expected;
        for (uint32_t process = 0; process < count; ++process)
          expected.push_back(bytesOf(process));
        auto all = group.gather(expected[self], 20);
        ASSERT_TRUE(all.ok()) << all.status().message();
        EXPECT_EQ(*all, expected) << size;
        ++round;
      }
      EXPECT_TRUE(group.leave().ok());
    });
  }
}

TEST(GatheringTest, says2MessagesPerProcess) {
  for (size_t count : {2, 4, 16, 64}) {
    QueueProcesses processes(count);
    processes.network->forgetTraffic();
    inAll(processes, [](uint32_t self, ProcessGroup &group) { EXPECT_TRUE(group.gather({uint8_t(self == 5)}, 20).ok()); });
    EXPECT_EQ(messagesOfAll(*processes.network), 2 * (count - 1));
    for (size_t process = 0; process < count; ++process)
      EXPECT_LE(processes.network->messagesSent(process), ProcessTree::arity + 1);
    EXPECT_EQ(processes.network->greatestMessage(), Frame::bytes);
  }
}

/// A process without threads, for simulations of very many. It receives only from its neighbours in the tree: other messages are lost.
class SteppedProcess {
public:
  SteppedProcess(std::shared_ptr<QueueNetwork> network, uint32_t self)
      : progress(*Progress::withoutThread(QueueNetwork::transport(std::move(network), self))), frames(*progress), gathering(frames, 1) {
    ProcessTree tree(progress->processes(), self);
    if (self != 0)
      hear(tree.above);
    for (const ProcessTree::Range &range : tree.below)
      hear(range.first);
  }
  std::shared_ptr<Progress> progress;
  Frames frames;
  Gathering gathering;

private:
  struct Ear final : MessageDone {
    Ear(SteppedProcess &process, uint32_t from) : process(process), from(from) { listen(); }
    void listen() { process.progress->transport().receive(from, 0, &frame, sizeof(frame), *this); }
    void messageDone(const Status &) override {
      process.gathering.read(from, frame);
      listen();
    }
    SteppedProcess &process;
    uint32_t from;
    Frame frame;
  };
  void hear(uint32_t from) { ears.push_back(std::make_unique<Ear>(*this, from)); }
  std::vector<std::unique_ptr<Ear>> ears;
};

struct SteppedProcesses {
  explicit SteppedProcesses(uint32_t count) : network(std::make_shared<QueueNetwork>(count)) {
    for (uint32_t process = 0; process < count; ++process)
      all.push_back(std::make_unique<SteppedProcess>(network, process));
  }
  /// One round, in which everyone gets what all give.
  void gather(const std::function<Bytes(uint32_t)> &bytesOf) {
    std::vector<Bytes> expected;
    for (uint32_t process = 0; process < all.size(); ++process)
      expected.push_back(bytesOf(process));
    network->forgetTraffic();
    for (uint32_t process = 0; process < all.size(); ++process)
      all[process]->gathering.begin(expected[process]);
    for (bool moved = true; moved;) {
      moved = false;
      for (auto &process : all)
        moved |= process->progress->step();
    }
    for (auto &process : all) {
      auto got = process->gathering.await(0);
      ASSERT_TRUE(got.ok()) << got.status().message();
      ASSERT_TRUE(*got == expected);
      EXPECT_TRUE(process->gathering.isQuiet());
    }
  }
  std::shared_ptr<QueueNetwork> network;
  std::vector<std::unique_ptr<SteppedProcess>> all;
};

// The pattern at the end of a training step: a few processes contribute bytes of their own, the others the same bytes.
TEST(GatheringTest, says2MessagesOf1KiBPerProcessIn1024Processes) {
  SteppedProcesses processes(1024);
  for (int round = 0; round < 2; ++round) {
    processes.gather([&](uint32_t process) { return process % 500 == 3 ? someBytes(96, process, round) : Bytes{0}; });
    EXPECT_EQ(messagesOfAll(*processes.network), 2u * 1023);
    for (size_t process = 0; process < 1024; ++process)
      EXPECT_LE(processes.network->messagesSent(process), ProcessTree::arity + 1);
    EXPECT_EQ(processes.network->greatestMessage(), Frame::bytes);
  }
}

// Contributions that do not fit into a frame follow it.
TEST(GatheringTest, says4MessagesPerProcessWhereAllOf1024SaySomethingElse) {
  SteppedProcesses processes(1024);
  processes.gather([&](uint32_t process) { return someBytes(3, process, process >> 8); });
  EXPECT_LE(messagesOfAll(*processes.network), 4u * 1023);
  for (size_t process = 0; process < 1024; ++process)
    EXPECT_LE(processes.network->messagesSent(process), 2 * (ProcessTree::arity + 1));
}

// Process 1 is the parent of 2; process 0 is the parent of these two and of the leaves 10 to 19.
TEST(GatheringTest, namesWhoIsMissingAsFarAsItKnows) {
  QueueProcesses processes(20);
  inAll(processes, [](uint32_t self, ProcessGroup &group) {
    if (self == 2 || self == 15)
      return;
    std::string whom = self == 0   ? "processes 1 to 2 (at least one), 15"
                       : self == 1 ? "process 2"
                                   : "process " + std::to_string(ProcessTree(20, self).above) + ", or for others that it waits for,";
    EXPECT_EQ(group.gather({}, 0.5).status().message(),
              "process " + std::to_string(self) + " waited 0.5 s for " + whom + " to do the same");
  });
}

} // namespace
} // namespace npar::testing
