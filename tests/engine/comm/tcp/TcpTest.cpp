// Messages over TCP, with threads in place of processes, each with sockets of its own.
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/comm/process/ProcessGroup.h"
#include "engine/comm/tcp/TcpTransport.h"
#include "engine/network/Addresses.h"
#include "tests/engine/comm/process/RandomOperations.h"
#include "tests/engine/comm/process/TransportConformance.h"

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>

namespace npar::testing {
namespace {

using namespace engine;

/// That nobody listens at now.
uint16_t freePort() { return listenAt(/*loopbackOnly=*/false)->port; }

TcpJob jobOf(uint32_t process, uint32_t processes, uint16_t port, double seconds = 20) {
  return {process, processes, "localhost", port, "a test", seconds};
}

/// What each process comes to; empty where all is well.
std::vector<std::string> together(uint32_t processes, const std::function<std::string(uint32_t)> &body) {
  std::vector<std::string> said(processes);
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < processes; ++process)
    threads.emplace_back([&, process] { said[process] = body(process); });
  for (std::thread &thread : threads)
    thread.join();
  return said;
}

void expectWell(const std::vector<std::string> &said) {
  for (size_t process = 0; process < said.size(); ++process)
    EXPECT_EQ(said[process], "") << "process " << process;
}

struct Noted final : MessageDone {
  void messageDone(const Status &status) override { result = status, done = true; }
  bool done = false;
  Status result;
};

TEST(Tcp, BringsMessagesAsEveryTransportMust) {
  for (uint32_t processes : {1, 2, 5}) {
    uint16_t port = freePort();
    expectWell(together(processes, [&](uint32_t process) {
      auto transport = tcpTransport(jobOf(process, processes, port))();
      if (!transport.ok())
        return transport.status().message();
      std::string wrong = whatDoesNotConform(**transport);
      return wrong.empty() ? (*transport)->leave().message() : wrong;
    }));
  }
}

struct NoChannel final : FailureChannel {
  void tell(const Status &status) override { ADD_FAILURE() << status.message(); }
  void listen(const void *, std::function<void(const Status &)>) override {}
};

TEST(Tcp, OperationsHaveTheBitsOfOneProcess) {
  uint16_t port = freePort();
  NoChannel channel;
  expectWell(together(3, [&](uint32_t process) {
    auto group = ProcessGroup::open(tcpTransport(jobOf(process, 3, port)));
    if (!group.ok())
      return group.status().message();
    std::string wrong;
    {
      CpuBackend backend(Spread{1, false});
      auto communicator = (*group)->communicator(backend, channel);
      wrong = whatDiffersAtRandom(*communicator, backend, process, 3, {5, 40, 8, 6});
    }
    return wrong.empty() ? (*group)->leave().message() : wrong;
  }));
}

// A message that nobody has asked for is kept; one of another size is told with both sizes.
TEST(Tcp, ReceivesMayComeLateAndMustFit) {
  uint16_t port = freePort();
  expectWell(together(2, [&](uint32_t process) -> std::string {
    auto opened = tcpTransport(jobOf(process, 2, port))();
    if (!opened.ok())
      return opened.status().message();
    Transport &transport = **opened;
    std::vector<uint8_t> large(8 << 20, 7), found(8 << 20), small(10);
    Noted first, second;
    if (process == 0) {
      transport.send(1, 3, large.data(), large.size(), first);
      transport.send(1, 4, large.data(), 11, second);
    } else {
      for (int i = 0; i < 50; ++i) { // some of the large one is here by then
        transport.progress();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      transport.receive(0, 3, found.data(), found.size(), first);
      transport.receive(0, 4, small.data(), small.size(), second);
    }
    while (!first.done || !second.done)
      transport.progress();
    if (process == 1 && (found != large || !first.result.ok()))
      return "the large message came otherwise";
    if (process == 1 && second.result.message() != "a message of 11 bytes came where 10 were expected")
      return second.result.message();
    return transport.leave().message();
  }));
}

TEST(Tcp, ALostProcessFailsWhatIsUnderWay) {
  uint16_t port = freePort();
  std::vector<std::string> said = together(3, [&](uint32_t process) -> std::string {
    auto opened = tcpTransport(jobOf(process, 3, port))();
    if (!opened.ok())
      return opened.status().message();
    if (process == 1)
      return ""; // goes without a farewell
    std::vector<uint8_t> bytes(10);
    Noted waits, later;
    (*opened)->receive(1, 0, bytes.data(), bytes.size(), waits);
    while (!waits.done)
      (*opened)->progress();
    (*opened)->send(1, 0, bytes.data(), bytes.size(), later);
    while (!later.done)
      (*opened)->progress();
    return waits.result.message() + " | " + later.result.message();
  });
  EXPECT_EQ(said[0].rfind("process 1 is lost: ", 0), 0u) << said[0];
  EXPECT_EQ(said[0].substr(0, said[0].find(" | ")), said[0].substr(said[0].find(" | ") + 3));
  EXPECT_EQ(said[2].rfind("process 1 is lost: ", 0), 0u) << said[2];
}

// Whoever says nothing, or something else, is not heard, and holds nobody up.
TEST(Tcp, StrangersAreNotHeard) {
  uint16_t port = freePort();
  std::atomic<bool> over{false};
  std::thread stranger([&] {
    std::vector<Descriptor> sockets;
    while (!over) {
      Result<Descriptor> socket = connectTo({loopbackAddress}, port, steadyNow() + 1);
      if (!socket.ok())
        continue;
      std::string text = sockets.size() % 3 == 0 ? "" : sockets.size() % 3 == 1 ? "GET / HTTP/1.1\r\nHost: npar\r\n\r\n" : "x";
      ::send(socket->get(), text.data(), text.size(), MSG_NOSIGNAL);
      sockets.push_back(std::move(*socket));
      if (sockets.size() > 50)
        sockets.clear();
    }
  });
  std::vector<std::string> said = together(3, [&](uint32_t process) {
    if (process > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return meetByTcp(jobOf(process, 3, port)).status().message();
  });
  over = true;
  stranger.join();
  expectWell(said);
}

TEST(Tcp, WhoIsMissingIsNamed) {
  uint16_t port = freePort();
  std::vector<std::string> said = together(2, [&](uint32_t process) { return meetByTcp(jobOf(process, 4, port, 1)).status().message(); });
  EXPECT_EQ(said[0], "processes 2, 3 have not come within 1 s");
  EXPECT_NE(said[1], "");
  EXPECT_EQ(meetByTcp(jobOf(1, 2, port, 1)).status().message().rfind("process 0, at localhost, is not there: ", 0), 0u);
}

TEST(Tcp, ProcessesMustAgreeOnWhoTheyAre) {
  uint16_t port = freePort();
  std::vector<std::string> said = together(3, [&](uint32_t number) {
    return meetByTcp(jobOf(number == 0 ? 0 : 1, 3, port, 2)).status().message(); // two are process 1
  });
  EXPECT_EQ(said[0], "two processes take themselves for process 1 of 3");
  port = freePort();
  said = together(2, [&](uint32_t process) { return meetByTcp(jobOf(process, 2 + process, port, 2)).status().message(); });
  EXPECT_EQ(said[0], "process 1 is one of 3 processes, process 0 one of 2");
}

TEST(Tcp, WhatCannotBeListenedAtOrFoundIsSaid) {
  Result<Listener> taken = listenAt(/*loopbackOnly=*/false);
  EXPECT_EQ(meetByTcp(jobOf(0, 2, taken->port, 1)).status().message(),
            "cannot listen at port " + std::to_string(taken->port) + ": Address already in use");
  TcpJob nowhere = jobOf(1, 2, 1, 1);
  nowhere.address = "no host of this name.";
  EXPECT_EQ(meetByTcp(nowhere).status().message().rfind("no IPv4 address of host 'no host of this name.' is known: ", 0), 0u);
}

} // namespace
} // namespace npar::testing
