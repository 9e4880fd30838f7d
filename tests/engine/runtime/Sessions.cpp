// One program in several sessions, threads in place of processes: ranks of different sessions share no memory and reach each other by
// messages.
#include "tests/engine/runtime/Sessions.h"

#include "engine/backends/Backends.h"
#include "engine/comm/device/DeviceCommunicator.h"
#include "engine/comm/local/LocalCommunicator.h"
#include "engine/program/Ranks.h"
#include "tests/engine/device/OffsetBackend.h"

namespace npar::testing {

using namespace engine;

namespace {

std::vector<int64_t> ranksOf(const SessionsOptions &options, size_t session, int64_t world) {
  if (auto given = options.ranks.find(session); given != options.ranks.end())
    return given->second;
  std::vector<int64_t> ranks;
  auto count = static_cast<int64_t>(options.count);
  for (int64_t rank = 0; rank < world; ++rank)
    if ((options.inTurns ? rank % count : rank * count / world) == static_cast<int64_t>(session))
      ranks.push_back(rank);
  return ranks;
}

std::shared_ptr<Communicator> communicatorOf(const SessionsOptions &options, size_t session, std::shared_ptr<ByteQueues> queues,
                                             QueueProcesses *processes, Backend &backend) {
  struct Both {
    std::shared_ptr<Communicator> inner;
    FaultyCommunicator faulty;
    Both(std::shared_ptr<Communicator> given, const std::vector<Fault> &faults, Backend &backend)
        : inner(std::move(given)), faulty(*inner, faults, &backend) {}
  };
  std::shared_ptr<Communicator> inner;
  if (options.local)
    inner = std::make_shared<LocalCommunicator>(backend);
  else if (processes)
    inner = processes->communicator(session, backend);
  else
    inner = std::make_shared<BytesCommunicator>(backend, std::move(queues), session, options.bytes);
  if (options.joined) {
    DeviceLinkOptions link;
    link.timeoutSeconds = options.session.timeoutSeconds, link.required = true;
    inner = std::make_shared<DeviceCommunicator>(std::move(inner), backend, std::move(link));
  }
  if (options.faults.empty())
    return inner;
  auto both = std::make_shared<Both>(std::move(inner), options.faults, backend);
  return {both, &both->faulty};
}

} // namespace

Sessions::Sessions(std::shared_ptr<const program::LoadedProgram> program, const SessionsOptions &options)
    : processes(options.processes ? std::make_unique<QueueProcesses>(options.count) : nullptr), opened(options.count),
      sessions(options.count) {
  auto queues = std::make_shared<ByteQueues>(options.count);
  int64_t world = program::worldOf(program->root());
  inThreads([&](size_t i) {
    SessionOptions own = options.session;
    own.ranks = ranksOf(options, i, world);
    own.productOrder = program::ProductOrder::Portable; // what every backend has
    if (options.alter)
      options.alter(i, own);
    SessionParts parts;
    if (options.memory == "cuda")
      own.backend = "cuda", own.process = static_cast<int64_t>(i), own.processes = static_cast<int64_t>(options.count);
    if (options.memory == "offset" || options.memory == "queued") {
      auto device = std::make_unique<OffsetBackend>(std::move(*createBackend("cpu", {own.threads, false})), options.memory == "queued");
      device->lostAtKernel = i == 0 ? options.lostAtKernel : -1;
      parts.backend = std::move(device);
    }
    parts.communicator = [&, i](Backend &backend) { return communicatorOf(options, i, queues, processes.get(), backend); };
    auto session = createSession(program, own, std::move(parts));
    opened[i] = session.status();
    if (session.ok())
      sessions[i] = std::move(*session);
  });
}

/// All leave at the same time, as processes do.
Sessions::~Sessions() {
  inThreads([&](size_t i) { sessions[i] = nullptr; });
}

std::vector<Status> Sessions::step(const Batch &batch, int64_t step) {
  std::vector<Status> statuses(sessions.size());
  results.resize(sessions.size());
  inThreads([&](size_t i) {
    auto result = sessions[i]->step(batch, step);
    statuses[i] = result.status();
    if (result.ok())
      results[i] = *result;
  });
  return statuses;
}

void Sessions::inThreads(const std::function<void(size_t)> &body) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < sessions.size(); ++i)
    threads.emplace_back([&, i] { body(i); });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace npar::testing
