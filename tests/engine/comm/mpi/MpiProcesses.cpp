// npar_mpi_processes mpich|openmpi conformance|groups|random|time|gather [NUMBER]: runs tests in several processes over MPI, started by
// that MPI's mpiexec (end_to_end/test_mpi.py). Prints errors, and `ok` from each process.
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/comm/mpi/MpiModules.h"
#include "engine/comm/process/ProcessGroup.h"
#include "tests/engine/comm/process/RandomOperations.h"
#include "tests/engine/comm/process/TransportConformance.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace npar;
using namespace npar::engine;

namespace {

std::string conformance(const OpenTransport &open) {
  auto transport = open();
  if (!transport.ok())
    return transport.status().message();
  std::string wrong = testing::whatDoesNotConform(**transport);
  if (wrong.empty())
    wrong = (*transport)->leave().message();
  return wrong;
}

std::string groups(const OpenTransport &open) {
  auto group = ProcessGroup::open(open);
  if (!group.ok())
    return group.status().message();
  uint32_t self = (*group)->process();
  for (size_t size : {0, 10, 5000, 3 << 20}) {
    auto all = (*group)->gather(std::vector<uint8_t>(size, static_cast<uint8_t>(self)), 30);
    if (!all.ok())
      return all.status().message();
    for (uint32_t process = 0; process < (*group)->processes(); ++process)
      if ((*all)[process] != std::vector<uint8_t>(size, static_cast<uint8_t>(process)))
        return "gather gave other bytes";
    auto same = (*group)->broadcast(std::vector<uint8_t>(self == 0 ? 3 * size : 1, 7), 30);
    if (!same.ok())
      return same.status().message();
    if (*same != std::vector<uint8_t>(3 * size, 7))
      return "broadcast gave other bytes";
  }
  std::printf("process %u of %u over %s\n", self, (*group)->processes(), (*group)->transportName().c_str());
  return (*group)->leave().message();
}

/// Ends only this process on a failure: the launcher ends the others.
struct NoChannel final : FailureChannel {
  void tell(const Status &status) override {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::fflush(nullptr);
    ::_exit(1);
  }
  void listen(const void *, std::function<void(const Status &)>) override {}
};

std::string randomOperations(const OpenTransport &open, size_t operations) {
  auto group = ProcessGroup::open(open);
  if (!group.ok())
    return group.status().message();
  uint32_t self = (*group)->process(), processes = (*group)->processes();
  NoChannel channel;
  // One session after the other, as checks of plans do it.
  for (uint64_t seed : {1, 2}) {
    CpuBackend backend(Spread{1, false});
    auto communicator = (*group)->communicator(backend, channel);
    testing::RandomOptions options{seed, operations, std::max<int64_t>(8, processes + 3), 6};
    std::string wrong = testing::whatDiffersAtRandom(*communicator, backend, self, processes, options);
    if (!wrong.empty())
      return wrong;
  }
  return (*group)->leave().message();
}

struct Ended final : Completion {
  void completed(const Status &) override { done.store(true); }
  std::atomic<bool> done{false};
};

/// Seconds of an all_reduce over all processes, with `megabytes` MiB on each: the median of nine.
std::string allReduceTime(const OpenTransport &open, size_t megabytes) {
  auto group = ProcessGroup::open(open);
  if (!group.ok())
    return group.status().message();
  NoChannel channel;
  CpuBackend backend(Spread{1, false});
  auto communicator = (*group)->communicator(backend, channel);
  CommunicationPlan plan;
  std::vector<int64_t> members;
  for (uint32_t process = 0; process < (*group)->processes(); ++process)
    members.push_back(process), plan.sessionOf.push_back(process);
  Operation operation;
  operation.members = members.data(), operation.memberCount = static_cast<uint32_t>(members.size());
  operation.member = (*group)->process(), operation.count = megabytes << 18;
  operation.input = operation.output = *backend.allocate(megabytes << 20);
  plan.ranks = {operation.rank()}, plan.operations = {&operation};
  if (Status status = communicator->prepare(plan); !status.ok())
    return status.message();
  std::vector<double> seconds;
  for (int i = 0; i < 9; ++i) {
    Ended ended;
    operation.completion = &ended;
    (void)communicator->gather({}, 30);
    auto begun = std::chrono::steady_clock::now();
    communicator->post(operation);
    while (!ended.done.load())
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  std::sort(seconds.begin(), seconds.end());
  if (operation.rank() == 0)
    std::printf("all_reduce of %zu MiB over %zu processes: %.1f ms\n", megabytes, members.size(), seconds[4] * 1e3);
  communicator = nullptr;
  return (*group)->leave().message();
}

/// Seconds of a gather of `bytes` bytes from each process: the median of 400.
std::string gatherTime(const OpenTransport &open, size_t bytes) {
  auto group = ProcessGroup::open(open);
  if (!group.ok())
    return group.status().message();
  std::vector<double> seconds;
  for (int i = 0; i < 400; ++i) {
    auto begun = std::chrono::steady_clock::now();
    if (auto all = (*group)->gather(std::vector<uint8_t>(bytes, 1), 30); !all.ok())
      return all.status().message();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  std::sort(seconds.begin(), seconds.end());
  if ((*group)->process() == 0)
    std::printf("gather of %zu bytes each over %u processes: %.0f us\n", bytes, (*group)->processes(), seconds[200] * 1e6);
  return (*group)->leave().message();
}

} // namespace

int main(int count, char **arguments) {
  if (count < 3)
    return 2;
  ::setenv("UCX_TCP_PUT_ENABLE", "n", 0); // as npar does
  auto open = mpiTransport(arguments[1]);
  if (!open.ok()) {
    std::fprintf(stderr, "%s\n", open.status().message().c_str());
    return static_cast<int>(open.status().code());
  }
  std::string what = arguments[2];
  size_t number = count > 3 ? std::strtoul(arguments[3], nullptr, 10) : 24;
  std::string wrong = what == "conformance" ? conformance(*open)
                      : what == "groups"    ? groups(*open)
                      : what == "time"      ? allReduceTime(*open, number)
                      : what == "gather"    ? gatherTime(*open, number)
                                            : randomOperations(*open, number);
  if (wrong.empty()) {
    std::puts("ok");
    return 0;
  }
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::fflush(nullptr);
  ::_exit(1); // without MPI_Finalize
}
