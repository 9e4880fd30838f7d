// Tests messages over TCP, with threads in place of processes, each with sockets of its own.
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/comm/process/ProcessGroup.h"
#include "engine/comm/tcp/TcpTransport.h"
#include "engine/network/ProvenConnections.h"
#include "tests/engine/comm/process/RandomOperations.h"
#include "tests/engine/comm/process/TransportConformance.h"

#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

/// A port on which no socket listens now.
uint16_t freePort() { return listenAt(anyAddress)->port; }

TcpJob jobOf(uint32_t process, uint32_t processes, uint16_t port, double seconds = 20) {
  return {process, processes, "localhost", "MASTER_ADDR", port, "a test", seconds, nullptr, nullptr};
}

JobKeyPointer keyOf(const std::string &secret) { return std::make_shared<JobKey>(secret.data(), secret.size()); }

/// The same at an address that other hosts reach, with a secret; nothing where this machine has none.
std::optional<TcpJob> outside(TcpJob job, const std::string &secret = "0123456789abcdef") {
  std::vector<uint32_t> own = ownAddresses();
  if (own.empty())
    return std::nullopt;
  job.address = textOf(own.front()), job.key = keyOf(secret);
  return job;
}

/// The result of each process; empty for success.
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

// A message without a receive is kept; a receive of another size reports both sizes.
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
    if (process == 1 && second.result.message() != "process 0 sent a message of 11 bytes where 10 were expected")
      return second.result.message();
    return transport.leave().message();
  }));
}

TEST(Tcp, ALostProcessFailsWhatIsUnderWay) {
  uint16_t port = freePort();
  std::atomic<int> here{0};
  std::vector<std::string> said = together(3, [&](uint32_t process) -> std::string {
    auto opened = tcpTransport(jobOf(process, 3, port))();
    if (!opened.ok())
      return opened.status().message();
    for (++here; process == 1 && here < 3;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
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

// A stranger that sends nothing, or the wrong bytes, is rejected and delays no process.
TEST(Tcp, StrangersAreNotHeard) {
  uint16_t port = freePort();
  std::atomic<bool> over{false};
  std::thread stranger([&] {
    std::vector<files::Descriptor> sockets;
    while (!over) {
      Result<files::Descriptor> socket = connectTo({loopbackAddress}, port, steadyNow() + 1);
      if (!socket.ok())
        continue;
      std::string text = sockets.size() % 3 == 0 ? "" : sockets.size() % 3 == 1 ? "GET / HTTP/1.1\r\nHost: npar\r\n\r\n" : "x";
      ::send(socket->get(), text.data(), text.size(), MSG_NOSIGNAL);
      sockets.push_back(std::move(*socket));
      if (sockets.size() > 50)
        sockets.clear();
    }
  });
  std::vector<TcpMeeting> meetings(3); // they stay until all have met
  std::vector<std::string> said = together(3, [&](uint32_t process) {
    if (process > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Result<TcpMeeting> met = meetByTcp(jobOf(process, 3, port));
    if (met.ok())
      meetings[process] = std::move(*met);
    return met.status().message();
  });
  over = true;
  stranger.join();
  expectWell(said);
}

TEST(Tcp, WhoIsMissingIsNamed) {
  uint16_t port = freePort();
  std::vector<std::string> said = together(2, [&](uint32_t process) { return meetByTcp(jobOf(process, 4, port, 1)).status().message(); });
  EXPECT_EQ(said[0], "processes 2, 3 have not come within 1 s; process 0 listens only at 127.0.0.1, which no other host can reach");
  EXPECT_NE(said[1], "");
  EXPECT_EQ(meetByTcp(jobOf(1, 2, port, 1)).status().message().rfind("process 0, at localhost, has not connected: ", 0), 0u);
}

TEST(Tcp, ProcessesMustAgreeOnWhoTheyAre) {
  uint16_t port = freePort();
  std::vector<std::string> said = together(3, [&](uint32_t number) {
    return meetByTcp(jobOf(number == 0 ? 0 : 1, 3, port, 2)).status().message(); // two are process 1
  });
  EXPECT_EQ(said[0], "two processes claim to be process 1 of 3");
  port = freePort();
  said = together(2, [&](uint32_t process) { return meetByTcp(jobOf(process, 2 + process, port, 2)).status().message(); });
  EXPECT_EQ(said[0], "process 1 is one of 3 processes, process 0 one of 2");
}

TEST(Tcp, WhatCannotBeListenedAtOrFoundIsSaid) {
  Result<Listener> taken = listenAt(anyAddress);
  EXPECT_EQ(meetByTcp(jobOf(0, 2, taken->port, 1)).status().message(),
            "cannot listen at port " + std::to_string(taken->port) + ": Address already in use");
  TcpJob nowhere = jobOf(1, 2, 1, 1);
  nowhere.address = "no host of this name.";
  EXPECT_EQ(meetByTcp(nowhere).status().message().rfind("no IPv4 address of host 'no host of this name.' is known: ", 0), 0u);
}

TEST(Tcp, ASecretIsNeededWhereOthersCanConnect) {
  std::optional<TcpJob> job = outside(jobOf(0, 2, freePort(), 1));
  if (!job)
    GTEST_SKIP() << "this machine has no address but the loopback";
  job->key = nullptr;
  for (uint32_t process : {0, 1}) {
    job->process = process;
    Status status = meetByTcp(*job).status();
    EXPECT_EQ(status.code(), Code::BadInput);
    EXPECT_NE(status.message().find("\n  export NPAR_JOB_SECRET=$(openssl rand -hex 32)\n"), std::string::npos) << status.message();
  }
}

/// Returns address and port of all listeners of this machine.
std::set<std::pair<uint32_t, uint16_t>> listening() {
  std::set<std::pair<uint32_t, uint16_t>> all;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    unsigned address, port, state;
    if (std::sscanf(line.c_str(), " %*d: %x:%x %*x:%*x %x", &address, &port, &state) == 3 && state == 10)
      all.emplace(address, static_cast<uint16_t>(port));
  }
  return all;
}

TEST(Tcp, ProcessesListenAtTheAddressOfTheJobAlone) {
  for (bool loopback : {true, false}) {
    uint16_t port = freePort();
    std::optional<TcpJob> job = loopback ? jobOf(0, 3, port) : outside(jobOf(0, 3, port));
    if (!job)
      GTEST_SKIP() << "this machine has no address but the loopback";
    uint32_t address = loopback ? loopbackAddress : ownAddresses().front();
    auto before = listening();
    std::atomic<bool> seen{false};
    std::vector<TcpMeeting> meetings(3); // a process that has gone is refused
    std::vector<std::string> said = together(3, [&](uint32_t process) -> std::string {
      TcpJob own = *job;
      own.process = process;
      for (int i = 0; process == 2 && i < 100 && !seen; ++i) { // the others wait for it, and listen
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        size_t here = 0;
        for (const auto &[at, where] : listening())
          if (!before.count({at, where})) {
            EXPECT_EQ(textOf(at), textOf(address)) << "port " << where;
            here += at == address;
          }
        seen = here >= 2;
      }
      Result<TcpMeeting> met = meetByTcp(own);
      if (!met.ok())
        return met.status().message();
      meetings[process] = std::move(*met);
      return meetings[process].address == address ? "" : "at " + textOf(meetings[process].address);
    });
    EXPECT_TRUE(seen);
    expectWell(said);
  }
}

// Both sides report it, and the job waits for the right process.
TEST(Tcp, AProcessWithAnotherSecretIsRefusedAndEndsNobody) {
  uint16_t port = freePort();
  std::mutex mutex;
  std::vector<std::string> remarks;
  std::atomic<bool> refused{false};
  expectWell(together(4, [&](uint32_t number) -> std::string {
    TcpJob job = jobOf(number == 3 ? 1 : number, 3, port);
    job.key = keyOf(number == 3 ? "another secret, another job" : "0123456789abcdef");
    if (number == 0)
      job.remark = [&](const std::string &text) {
        std::lock_guard<std::mutex> lock(mutex);
        remarks.push_back(text);
      };
    while (number == 1 && !refused) // the right one
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Status status = meetByTcp(job).status();
    if (number != 3)
      return status.message();
    refused = true;
    EXPECT_EQ(status.code(), Code::BadInput);
    return status.message() == "process 0, at localhost, and this process cannot join: its job secret differs from that of this "
                               "process: set the same NPAR_JOB_SECRET (or NPAR_JOB_SECRET_FILE) on every host"
               ? ""
               : "said: " + status.message();
  }));
  EXPECT_EQ(remarks, std::vector<std::string>{"process 1 at 127.0.0.1 was refused: its job secret differs; set the same "
                                              "NPAR_JOB_SECRET (or NPAR_JOB_SECRET_FILE) on every host"});
}

TEST(Tcp, ASecretInSomeProcessesAloneIsSaid) {
  for (uint32_t with : {0, 1}) {
    uint16_t port = freePort();
    std::vector<std::string> said = together(2, [&](uint32_t process) {
      TcpJob job = jobOf(process, 2, port, 1);
      job.key = process == with ? keyOf("0123456789abcdef") : nullptr;
      return meetByTcp(job).status().message();
    });
    EXPECT_NE(said[0].find("process 1 has not come within 1 s; a process at 127.0.0.1 was refused: it has " +
                           std::string(with == 0 ? "no job secret, but this process has one" : "a job secret, but this process has none")),
              std::string::npos)
        << said[0];
    EXPECT_NE(said[1].find(with == 0 ? "it has a job secret, but this process has none" : "it has no job secret, but this process has one"),
              std::string::npos)
        << said[1];
  }
}

void sendRaw(const files::Descriptor &socket, const void *bytes, size_t size) { ::send(socket.get(), bytes, size, MSG_NOSIGNAL); }

// The 24 bytes of a process with another count ended jobs once; a flood of silent connections must not delay one either.
TEST(Tcp, NoStrangerEndsAJobOrKeepsItWaiting) {
  uint16_t port = freePort();
  std::vector<files::Descriptor> strangers;
  std::atomic<bool> ready{false};
  std::vector<std::string> said = together(4, [&](uint32_t number) -> std::string {
    TcpJob job = jobOf(number, 3, port, 60);
    job.key = keyOf("0123456789abcdef");
    if (number < 3) {
      while (number > 0 && !ready)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return meetByTcp(job).status().message();
    }
    const uint32_t old[6] = {0x5450524e, 1, 5, 1, 0, 0};
    while (strangers.size() < 400) {
      Result<files::Descriptor> socket = connectTo({loopbackAddress}, port, steadyNow() + 1);
      if (!socket.ok())
        continue;
      if (strangers.size() % 2)
        sendRaw(*socket, old, sizeof(old));
      strangers.push_back(std::move(*socket));
      ready = strangers.size() > 350;
    }
    return "";
  });
  expectWell(said);
}

size_t residentBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm").ignore(64, ' ') >> pages;
  return pages * 4096;
}

// Eight bytes that announce 2 GiB are no message; those that announce what is allowed take no memory before it comes.
TEST(Tcp, WhatIsAnnouncedTakesNoMemory) {
  for (uint32_t size : {uint32_t{INT32_MAX}, static_cast<uint32_t>(greatestTcpMessage)}) {
    uint16_t port = freePort();
    std::atomic<bool> over{false};
    expectWell(together(2, [&](uint32_t process) -> std::string {
      TcpJob job = jobOf(process, 2, port);
      if (process == 1) { // a process of the job that has lost its senses
        Result<TcpMeeting> meeting = meetByTcp(job);
        if (!meeting.ok())
          return meeting.status().message();
        const uint32_t header[2] = {3, size};
        sendRaw(meeting->sockets[0], header, sizeof(header));
        while (!over)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return "";
      }
      auto opened = tcpTransport(job)();
      if (!opened.ok())
        return opened.status().message();
      size_t before = residentBytes();
      Noted waits;
      std::vector<uint8_t> bytes(10);
      (*opened)->receive(1, 0, bytes.data(), bytes.size(), waits);
      for (int i = 0; i < 200 && !waits.done; ++i) {
        (*opened)->progress();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      over = true;
      EXPECT_LT(residentBytes(), before + (16 << 20));
      bool refused = waits.done && waits.result.message() == "process 1 is lost: it sent a message that does not belong to this job";
      return refused == (size > greatestTcpMessage) ? "" : "said: " + waits.result.message();
    }));
  }
}

/// Runs the body in a process of the user `nobody`; returns its text.
std::string asNobody(const std::function<std::string()> &body) {
  int ends[2];
  if (::pipe(ends) != 0)
    return "no pipe";
  pid_t child = ::fork();
  if (child == 0) {
    std::string said = ::setresuid(65534, 65534, 65534) == 0 ? body() : "cannot become another user";
    bool written = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char bytes[256];
  for (ssize_t count; (count = ::read(ends[0], bytes, sizeof(bytes))) > 0;)
    said.append(bytes, static_cast<size_t>(count));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return said;
}

/// Takes process 1 in as process 0 does, without asking who it is; waits for it to close the connection.
std::string takeIn(uint16_t port) {
  Result<Listener> listener = listenAt(loopbackAddress, port);
  if (!listener.ok())
    return listener.status().message();
  Deadline deadline(5);
  pollfd waiting{listener->socket.get(), POLLIN, 0};
  ::poll(&waiting, 1, 5000);
  files::Descriptor socket(::accept4(listener->socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  HandshakeTerms own{"a test", 0, 2, nullptr};
  Handshake handshake = Handshake::accepting(own);
  while (handshake.state() == Handshake::State::Running) {
    uint8_t byte;
    if (!receiveExactly(socket.get(), &byte, 1, "it", deadline).ok())
      return "it has gone";
    handshake.hear(&byte, 1);
    if (handshake.state() == Handshake::State::Claimed)
      handshake.answer(Handshake::Verdict::Welcome);
    std::vector<uint8_t> bytes = handshake.take();
    if (!sendExactly(socket.get(), bytes.data(), bytes.size(), "it", deadline).ok())
      return "it has gone";
  }
  uint8_t byte;
  return receiveExactly(socket.get(), &byte, 1, "it", deadline).message();
}

// Whoever may connect to a port of the loopback may be another user of the host, whose program would run here.
TEST(Tcp, WithoutASecretOnlyOneUsersProcessesJoin) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root, to become another user";
  for (uint32_t stranger : {0, 1}) {
    uint16_t port = freePort();
    auto join = [&](uint32_t process) {
      auto opened = tcpTransport(jobOf(process, 2, port, 2))();
      return opened.ok() ? std::string("joined") : opened.status().message();
    };
    std::string own;
    std::thread ours([&] { own = join(1 - stranger); });
    std::string theirs = asNobody([&] { return stranger == 0 ? takeIn(port) : join(1); });
    ours.join();
    EXPECT_NE(own.find(stranger == 0 ? "process 0, at localhost, belongs to user 65534, this process to user 0, and there is no job secret"
                                     : "it belongs to another user of this host, and there is no job secret"),
              std::string::npos)
        << own;
    EXPECT_EQ(theirs.find("joined"), std::string::npos);
  }
}

} // namespace
} // namespace npar::testing
