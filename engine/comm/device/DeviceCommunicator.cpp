// Runs operations as commands in one stream of a device, and exchanges with other processes what must be known before and after.
#include "engine/comm/device/DeviceCommunicator.h"

#include "engine/program/Elements.h"

#include <algorithm>
#include <chrono>

namespace npar::engine {

namespace {

using Clock = std::chrono::steady_clock;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

} // namespace

DeviceCommunicator::DeviceCommunicator(std::shared_ptr<Communicator> inner, Backend &backend, DeviceLinkOptions options)
    : inner(std::move(inner)), backend(backend), options(std::move(options)) {}

DeviceCommunicator::~DeviceCommunicator() {
  if (unfinished > 0)
    stop(Status(Code::Internal, "a session ended in the middle of its communication"));
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    wake.notify_all();
  }
  thread.join();
}

Status DeviceCommunicator::prepare(const CommunicationPlan &plan) {
  process = plan.sessionOf[static_cast<size_t>(plan.ranks.front())];
  Result<DeviceJob> job = agreeOnDevices(*inner, backend.network(), process, options.timeoutSeconds);
  if (!job.ok()) {
    if (options.required || job.status().code() != Code::BadInput)
      return job.status();
    if (options.remark)
      options.remark(job.status().message());
    return inner->prepare(plan);
  }
  groups.prepare(plan, process);
  CommunicationPlan others = plan, own = plan;
  others.operations.clear(), own.operations.clear();
  for (const Operation *operation : plan.operations)
    (groups.of(*operation).isLocal() ? others : own).operations.push_back(operation);
  rules.prepare(own);
  if (Status status = comparePlans(*inner, groups, own.operations, process, options.timeoutSeconds); !status.ok())
    return status;
  if (Status status = makePlans(own.operations); !status.ok())
    return status;
  if (Status status = inner->prepare(others); !status.ok())
    return status;
  direct = true;
  return startThread(std::move(*job));
}

Status DeviceCommunicator::makePlans(const std::vector<const Operation *> &operations) {
  auto processesOf = [](const Group &group) {
    std::vector<uint32_t> all;
    for (const Party &party : group.parties)
      all.push_back(party.process);
    return all;
  };
  std::set<std::vector<uint32_t>> wanted;
  for (const Operation *operation : operations)
    if (const Group &group = groups.of(*operation); DevicePlan::wantsLibrary(*operation, group))
      wanted.insert(processesOf(group));
  auto agreed = agreeOnGroups(*inner, wanted, options.timeoutSeconds);
  if (!agreed.ok())
    return agreed.status();
  libraryGroups = std::move(*agreed);
  scratchBytes = 0;
  for (const Operation *operation : operations) {
    const Group &group = groups.of(*operation);
    if (group.members[group.ownParty().members.front()] != operation->rank())
      continue;
    auto found = std::lower_bound(libraryGroups.begin(), libraryGroups.end(), processesOf(group));
    bool there = found != libraryGroups.end() && *found == processesOf(group);
    auto made =
        std::make_unique<DevicePlan>(*operation, group, there ? std::optional<size_t>(found - libraryGroups.begin()) : std::nullopt);
    scratchBytes = std::max(scratchBytes, made->scratchBytes);
    plans[operation->tag] = std::move(made);
  }
  return {};
}

Status DeviceCommunicator::startThread(DeviceJob job) {
  std::future<Status> ready = joined.get_future();
  thread = std::thread([this, job = std::move(job)] { run(job); });
  return ready.get();
}

void DeviceCommunicator::post(const Operation &operation) {
  if (!direct)
    return inner->post(operation);
  if (Status elsewhere = inner->abortedElsewhere(); !elsewhere.ok())
    stop(elsewhere);
  if (aborted.load())
    return operation.completion->completed(reasonToStop());
  const Group &group = groups.of(operation);
  if (group.isLocal())
    return inner->post(operation);
  if (Offence offence = rules.judge(operation)) {
    abort(Status::runFailed(offence.text));
    return operation.completion->completed(reasonToStop());
  }
  ++unfinished;
  Meetings::Joined meeting = meetings.join(operation, group, now());
  if (!meeting.wrong.empty()) {
    abort(Status::runFailed(std::string(nameOf(operation)) + ": members disagree: " + meeting.wrong));
    return complete({operation}, reasonToStop());
  }
  if (meeting.complete)
    if (std::vector<Operation> members = meetings.begin(*meeting.complete); !members.empty()) {
      std::lock_guard<std::mutex> lock(mutex);
      Flight &flight = flights.emplace_back(*this, group, std::move(members));
      flight.self = std::prev(flights.end());
      waiting.push_back(&flight);
    }
  if (aborted.load()) // it may have swept before this one was there
    sweep();
  std::lock_guard<std::mutex> lock(mutex);
  wake.notify_all();
}

void DeviceCommunicator::complete(const std::vector<Operation> &operations, const Status &status) {
  unfinished -= operations.size();
  for (const Operation &operation : operations)
    operation.completion->completed(status);
}

void DeviceCommunicator::land(Flight &flight, const Status &status) {
  if (!status.ok())
    abort(status);
  Status given = aborted.load() ? reasonToStop() : Status();
  std::vector<Operation> members = std::move(flight.members);
  {
    std::lock_guard<std::mutex> lock(mutex);
    flights.erase(flight.self);
    wake.notify_all();
  }
  complete(members, given);
}

void DeviceCommunicator::abort(const Status &status) {
  inner->abort(status);
  Status elsewhere = inner->abortedElsewhere();
  stop(elsewhere.ok() ? status : elsewhere);
}

void DeviceCommunicator::stop(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (aborted.load())
      return;
    reason = status;
    aborted.store(true);
    wake.notify_all();
  }
  sweep();
}

Status DeviceCommunicator::reasonToStop() const {
  std::lock_guard<std::mutex> lock(mutex);
  return reason;
}

void DeviceCommunicator::sweep() {
  if (std::vector<Operation> members = meetings.clear(/*withExchanges=*/false, nullptr); !members.empty())
    complete(members, reasonToStop());
}

std::vector<PendingOperation> DeviceCommunicator::pending() const {
  std::vector<PendingOperation> all = inner->pending(), met = meetings.pending();
  all.insert(all.end(), met.begin(), met.end());
  std::lock_guard<std::mutex> lock(mutex);
  for (const Flight &flight : flights) { // only the devices know which of the other members have arrived
    std::vector<int64_t> others;
    for (size_t party = 0; party < flight.group.parties.size(); ++party)
      for (uint32_t member : flight.group.parties[party].members)
        if (party != flight.group.own)
          others.push_back(flight.group.members[member]);
    std::sort(others.begin(), others.end());
    for (const Operation &operation : flight.members)
      all.push_back({operation.tag, operation.rank(), others});
  }
  return all;
}

Result<std::vector<std::vector<uint8_t>>> DeviceCommunicator::gather(const std::vector<uint8_t> &own, double timeoutSeconds) {
  if (direct)
    if (Offence offence = rules.judgeStep())
      abort(Status::runFailed(offence.text));
  return inner->gather(own, timeoutSeconds);
}

Status DeviceCommunicator::join(const DeviceJob &job) {
  double end = now() + options.timeoutSeconds;
  auto joining = std::make_shared<bool>(true);
  auto goOn = [this, end, joining]() -> Status {
    if (aborted.load())
      return reasonToStop();
    if (Status elsewhere = inner->abortedElsewhere(); !elsewhere.ok())
      return elsewhere;
    if (*joining && now() > end)
      return Status(Code::Timeout, "the devices of the processes did not find each other in time");
    return {};
  };
  Result<std::unique_ptr<DeviceMessages>> made = backend.network()->join(job.id, job.processes, process, goOn);
  if (!made.ok())
    return made.status();
  if (Status status = (*made)->makeGroups(libraryGroups); !status.ok()) {
    (*made)->abort();
    return status;
  }
  *joining = false;
  uint64_t bytes = scratchBytes;
  scratchBytes = 0;
  if (Status status = takeScratch(bytes); !status.ok()) {
    (*made)->abort();
    return Status(status.code(), "messages between GPUs: " + status.message());
  }
  messages = std::move(*made);
  return {};
}

void DeviceCommunicator::run(const DeviceJob &job) {
  backend.enterThread();
  Status status = join(job);
  bool ended = !messages;
  joined.set_value(status);
  auto news = Clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping || !flights.empty()) {
    if (aborted.load() && !ended) {
      lock.unlock();
      messages->abort();
      ended = true;
      lock.lock();
    }
    if (!waiting.empty()) {
      Flight &flight = *waiting.front();
      waiting.pop_front();
      lock.unlock();
      Status started = aborted.load() ? reasonToStop() : start(flight);
      if (started.ok())
        backend.whenDone(flight);
      else {
        abort(started);
        if (!std::exchange(ended, true)) // what has started of it refers to its memory
          messages->abort();
        land(flight, started);
      }
      news = Clock::now();
      lock.lock();
      continue;
    }
    if (unfinished == 0 && !stopping) {
      wake.wait(lock);
      news = Clock::now();
      continue;
    }
    // Polls without pause at first; then sleeps for an eighth of the quiet time, at most half a millisecond.
    auto quiet = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - news);
    if (quiet.count() < 100) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    } else {
      wake.wait_for(lock, std::min<std::chrono::microseconds>(quiet / 8, std::chrono::microseconds(500)));
    }
    lock.unlock();
    watch();
    lock.lock();
  }
  lock.unlock();
  if (!ended && (aborted.load() || !inner->abortedElsewhere().ok())) // after a failure, the processes cannot leave together
    messages->abort();
  if (scratch)
    backend.release(scratch, scratchBytes);
  messages.reset();
}

void DeviceCommunicator::watch() {
  if (aborted.load())
    return;
  if (Status elsewhere = inner->abortedElsewhere(); !elsewhere.ok())
    return stop(elsewhere);
  if (Status health = messages->health(); !health.ok())
    abort(health);
}

Status DeviceCommunicator::takeScratch(uint64_t bytes) {
  if (bytes <= scratchBytes)
    return {};
  if (scratch) {
    if (Status status = waitUntilDone(backend); !status.ok())
      return status;
    backend.release(scratch, scratchBytes);
  }
  scratch = {}, scratchBytes = 0;
  Result<DeviceAddress> taken = backend.allocate(bytes);
  if (!taken.ok())
    return taken.status();
  scratch = *taken, scratchBytes = bytes;
  return {};
}

Status DeviceCommunicator::start(const Flight &flight) {
  if (auto found = plans.find(flight.members.front().tag); found != plans.end())
    return carryOut(*found->second, flight);
  DevicePlan plan(flight.members.front(), flight.group, std::nullopt);
  if (Status status = takeScratch(plan.scratchBytes); !status.ok())
    return status;
  return carryOut(plan, flight);
}

Status DeviceCommunicator::carryOut(const DevicePlan &plan, const Flight &flight) {
  Buffers buffers(flight.group, flight.members);
  auto address = [&](const DevicePlace &place) {
    DeviceAddress base = place.memory == DevicePlace::Memory::Scratch ? scratch
                         : place.memory == DevicePlace::Memory::Input ? buffers.input(place.part, place.member)
                                                                      : buffers.output(place.part, place.member);
    return base + place.offset;
  };
  std::vector<DeviceAddress> sources, targets;
  std::vector<DeviceMessage> together;
  std::vector<DeviceCollective> collectives;
  Status status;
  auto does = [&](const auto &command) {
    using Command = std::decay_t<decltype(command)>;
    if constexpr (std::is_same_v<Command, CopyCommand>) {
      backend.copy(address(command.to), address(command.from), command.bytes);
    } else if constexpr (std::is_same_v<Command, ZeroCommand>) {
      backend.zero(address(command.to), command.bytes);
    } else if constexpr (std::is_same_v<Command, SumCommand>) {
      sources.clear(), targets.clear();
      for (const DevicePlace &place : command.sources)
        sources.push_back(address(place));
      for (const DevicePlace &place : command.targets)
        targets.push_back(address(place));
      const Operation &part = buffers.first(command.part);
      backend.reduce(part.type, part.op, sources.data(), sources.size(), targets.data(), targets.size(),
                     command.bytes / program::sizeOf(part.type));
    } else if constexpr (std::is_same_v<Command, LibraryCommand>) {
      collectives.clear();
      for (const LibraryCommand::Collective &each : command.collectives)
        collectives.push_back({each.kind, each.type, address(each.input), address(each.output), each.count});
      status = messages->collect(command.group, collectives);
    } else {
      together.clear();
      for (const ExchangeCommand::Message &message : command.messages)
        together.push_back({message.sends, address(message.memory), message.bytes, flight.group.parties[message.party].process});
      status = messages->exchange(together);
    }
  };
  for (size_t i = 0; i < plan.commands.size() && status.ok(); ++i)
    std::visit(does, plan.commands[i]);
  return status;
}

} // namespace npar::engine
