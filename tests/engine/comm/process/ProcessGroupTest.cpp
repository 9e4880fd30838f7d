// Tests the transport of queues, and the operations of process groups outside of training: gather, broadcast, leave.
#include "engine/comm/process/ProcessGroup.h"
#include "tests/engine/comm/process/QueueTransport.h"
#include "tests/engine/comm/process/TransportConformance.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace npar::testing {
namespace {

using namespace engine;
using Bytes = std::vector<uint8_t>;

void inThreads(size_t count, const std::function<void(uint32_t)> &body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] { body(i); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(QueueTransportTest, conforms) {
  for (QueueOptions options : {QueueOptions(), QueueOptions{2, 0.002, false}, QueueOptions{3, 0.002, true}})
    for (size_t processes : {1, 2, 5}) {
      auto network = std::make_shared<QueueNetwork>(processes, options);
      inThreads(processes, [&](uint32_t process) {
        auto transport = QueueNetwork::transport(network, process)();
        EXPECT_EQ(whatDoesNotConform(**transport), "") << "process " << process << " of " << processes;
      });
    }
}

/// The groups of all processes.
std::vector<std::shared_ptr<ProcessGroup>> openGroups(std::shared_ptr<QueueNetwork> network) {
  std::vector<std::shared_ptr<ProcessGroup>> groups(network->processes());
  inThreads(groups.size(), [&](uint32_t process) { groups[process] = *ProcessGroup::open(QueueNetwork::transport(network, process)); });
  return groups;
}

Bytes someBytes(size_t size, uint32_t seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + seed * 31 + (i >> 10));
  return bytes;
}

TEST(ProcessGroupTest, gathersAndBroadcastsBytesOfAnySize) {
  for (size_t processes : {1, 2, 3, 8}) {
    auto network = std::make_shared<QueueNetwork>(processes, QueueOptions{4, 0.001, true});
    auto groups = openGroups(network);
    inThreads(processes, [&](uint32_t self) {
      EXPECT_EQ(groups[self]->process(), self);
      EXPECT_EQ(groups[self]->processes(), processes);
      EXPECT_EQ(groups[self]->transportName(), "queues 1.0");
      uint32_t round = 0;
      for (size_t size : {0, 1, 900, 5000, 3 << 20}) {
        std::vector<Bytes> expected;
        for (uint32_t process = 0; process < processes; ++process)
          expected.push_back(someBytes(size + process, round + process));
        auto all = groups[self]->gather(expected[self], 20);
        ASSERT_TRUE(all.ok()) << all.status().message();
        EXPECT_EQ(*all, expected) << size;
        auto same = groups[self]->broadcast(self == 0 ? someBytes(5 * size, round) : Bytes{1}, 20);
        ASSERT_TRUE(same.ok()) << same.status().message();
        EXPECT_EQ(*same, someBytes(5 * size, round)) << size;
        ++round;
      }
      Status left = groups[self]->leave();
      EXPECT_TRUE(left.ok()) << left.message();
      EXPECT_EQ(groups[self]->gather({}, 1).status().message(), "this process has left its group");
    });
    EXPECT_LE(network->greatestMessage(), 1u << 20) << "what is large goes in pieces";
  }
}

TEST(ProcessGroupTest, aWaitEndsAndNamesWhoIsMissing) {
  auto groups = openGroups(std::make_shared<QueueNetwork>(4));
  inThreads(4, [&](uint32_t self) {
    if (self != 1 && self != 2) {
      auto all = groups[self]->gather({}, 0.1);
      EXPECT_EQ(all.status().code(), Code::Timeout);
      EXPECT_EQ(all.status().message(), self == 0
                                            ? "process 0 waited 0.1 s for processes 1, 2 to do the same"
                                            : "process 3 waited 0.1 s for process 0, or for others that it waits for, to do the same");
    } else {
      EXPECT_EQ(groups[self]->broadcast({}, 0.1).status().message(),
                "process " + std::to_string(self) + " waited 0.1 s for the bytes of process 0");
    }
  });
}

// The job has failed in a way that the transport does not notice.
TEST(ProcessGroupTest, anAbortEndsWaitsAndAllThatFollow) {
  auto groups = openGroups(std::make_shared<QueueNetwork>(2));
  inThreads(2, [&](uint32_t self) {
    if (self == 0)
      groups[1]->abort(Status::runFailed("process 0 is stopped"));
    else
      EXPECT_EQ(groups[1]->gather({}, 60).status().message(), "process 0 is stopped");
  });
  EXPECT_EQ(groups[1]->gather({}, 60).status().message(), "process 0 is stopped");
  EXPECT_EQ(groups[1]->broadcast({}, 60).status().message(), "process 0 is stopped");
}

TEST(ProcessGroupTest, aTransportThatDoesNotOpenIsAnError) {
  auto group = ProcessGroup::open([]() -> Result<std::unique_ptr<Transport>> { return Status::badInput("no network today"); });
  EXPECT_EQ(group.status().message(), "no network today");
}

} // namespace
} // namespace npar::testing
