// GPUs of several processes joined by NCCL.
#include "engine/backends/cuda/nccl/NcclNetwork.h"

#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <thread>

namespace npar::engine::cuda {

namespace {

/// Asks until it is no longer in progress; `goOn` may end that.
Status settle(const NcclLibrary &nccl, void *communicator, NcclCode code, const std::string &what, const std::function<Status()> &goOn) {
  for (int asked = 0; code == NcclCode::InProgress; ++asked) {
    if (Status status = goOn(); !status.ok())
      return status;
    if (asked > 50)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    NcclCode state = NcclCode::Success;
    if (Status status = nccl.check(nccl.call().getAsyncError(communicator, &state), what, communicator); !status.ok())
      return status;
    code = state;
  }
  return nccl.check(code, what, communicator);
}

int typeOf(program::ElementType type) {
  switch (type) {
  case program::ElementType::F16:
    return static_cast<int>(NcclType::F16);
  case program::ElementType::F32:
    return static_cast<int>(NcclType::F32);
  case program::ElementType::F64:
    return static_cast<int>(NcclType::F64);
  case program::ElementType::BF16:
    return static_cast<int>(NcclType::BF16);
  case program::ElementType::I32:
  case program::ElementType::U8:
    break; // Communicator.h: sums of floats alone
  }
  return ncclBytes;
}

/// Messages go by the communicator of all processes, collectives by one for each group. All are used in the thread's one stream, where one
/// ends before the next begins whatever communicator it is of, so the order in which operations meet stays the program's. A communicator of
/// its own would give messages nothing, for two processes that send to each other are in one order already.
class NcclMessages final : public DeviceMessages {
public:
  NcclMessages(const NcclLibrary &nccl, void *communicator, uint32_t process, ThreadWork &work, std::function<Status()> goOn)
      : nccl(nccl), communicator(communicator), process(process), work(work), goOn(std::move(goOn)) {}
  ~NcclMessages() override;
  Status exchange(const std::vector<DeviceMessage> &messages) override;
  Status makeGroups(const std::vector<std::vector<uint32_t>> &groups) override;
  Status collect(size_t group, const std::vector<DeviceCollective> &collectives) override;
  Status health() override;
  void abort() override;

private:
  NcclCode start(const DeviceCollective &each, void *on, Handle stream) const;
  /// Splits the job's communicator, together with all processes. A process without a group gets no part.
  Status split(std::optional<size_t> group);
  /// Those that are there, made last first.
  std::vector<void *> all() const;

  const NcclLibrary &nccl;
  void *communicator;            ///< of all processes; null: aborted
  std::map<size_t, void *> made; ///< of groups that this process is in
  uint32_t process;
  ThreadWork &work;
  std::function<Status()> goOn;
};

std::vector<void *> NcclMessages::all() const {
  std::vector<void *> list = {communicator};
  for (const auto &[group, own] : made)
    list.push_back(own);
  std::reverse(list.begin(), list.end());
  return list;
}

/// All processes leave at the same time, in one order; one that does not come must not hold up the others.
NcclMessages::~NcclMessages() {
  if (!communicator)
    return;
  (void)work.begin();
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  auto soon = [&] { return std::chrono::steady_clock::now() < end ? Status() : Status::runFailed("it takes too long"); };
  for (void *each : all())
    if (settle(nccl, each, nccl.call().finalize(each), "leaving", soon).ok())
      nccl.call().destroy(each);
    else
      nccl.call().abort(each);
}

Status NcclMessages::exchange(const std::vector<DeviceMessage> &messages) {
  Handle stream = work.begin();
  if (!stream || !communicator)
    return {}; // the error is reported when the stream is waited for
  const NcclFunctions &call = nccl.call();
  Status status = nccl.check(call.groupStart(), "beginning a group", communicator);
  for (const DeviceMessage &message : messages) {
    if (!status.ok())
      break;
    auto peer = static_cast<int>(message.peer);
    void *memory = message.memory.devicePointer();
    NcclCode code = message.sends ? call.send(memory, message.bytes, ncclBytes, peer, communicator, stream)
                                  : call.receive(memory, message.bytes, ncclBytes, peer, communicator, stream);
    status =
        nccl.check(code, std::string(message.sends ? "a message to" : "a message from") + " process " + std::to_string(peer), communicator);
  }
  NcclCode ended = call.groupEnd(); // also where something went wrong, for the next group of this thread
  return status.ok() ? settle(nccl, communicator, ended, "starting messages", goOn) : status;
}

/// A split makes as many communicators as there are colours, so groups that have no process in common share one.
Status NcclMessages::makeGroups(const std::vector<std::vector<uint32_t>> &groups) {
  std::vector<std::set<uint32_t>> taken; // by split: processes that have a colour
  std::vector<std::optional<size_t>> own;
  for (size_t group = 0; group < groups.size(); ++group) {
    const std::vector<uint32_t> &members = groups[group];
    size_t at = 0;
    while (at < taken.size() && std::any_of(members.begin(), members.end(), [&](uint32_t each) { return taken[at].count(each) != 0; }))
      ++at;
    if (at == taken.size())
      taken.emplace_back(), own.emplace_back();
    taken[at].insert(members.begin(), members.end());
    if (std::binary_search(members.begin(), members.end(), process))
      own[at] = group;
  }
  for (const std::optional<size_t> &group : own)
    if (Status status = split(group); !status.ok())
      return status;
  return {};
}

Status NcclMessages::split(std::optional<size_t> group) {
  NcclConfig config;
  void *result = nullptr;
  (void)work.begin();
  NcclCode code =
      nccl.call().split(communicator, group ? static_cast<int>(*group) : ncclWithoutGroup, static_cast<int>(process), &result, &config);
  Status status = settle(nccl, communicator, code, "making groups of processes", goOn);
  if (result)
    made[group.value_or(0)] = result;
  if (!status.ok() || !group)
    return status;
  if (!result)
    return Status(engine::Code::Internal, "NCCL made no communicator of a group");
  return settle(nccl, result, NcclCode::InProgress, "making groups of processes", goOn);
}

NcclCode NcclMessages::start(const DeviceCollective &each, void *on, Handle stream) const {
  const NcclFunctions &call = nccl.call();
  const void *input = each.input.devicePointer();
  void *output = each.output.devicePointer();
  switch (each.kind) {
  case program::CollectiveKind::AllReduce:
    return call.allReduce(input, output, each.count, typeOf(each.type), ncclAdds, on, stream);
  case program::CollectiveKind::ReduceScatter:
    return call.reduceScatter(input, output, each.count, typeOf(each.type), ncclAdds, on, stream);
  case program::CollectiveKind::AllGather:
    return call.allGather(input, output, each.count * program::sizeOf(each.type), ncclBytes, on, stream);
  case program::CollectiveKind::AllToAll:
  case program::CollectiveKind::Permute:
    break; // DevicePlan
  }
  return NcclCode::Success;
}

Status NcclMessages::collect(size_t group, const std::vector<DeviceCollective> &collectives) {
  Handle stream = work.begin();
  if (!stream || !communicator)
    return {}; // the error is reported when the stream is waited for
  auto found = made.find(group);
  if (found == made.end())
    return Status(engine::Code::Internal, "process " + std::to_string(process) + " is not in group " + std::to_string(group));
  const NcclFunctions &call = nccl.call();
  Status status = nccl.check(call.groupStart(), "beginning a group", found->second);
  for (const DeviceCollective &each : collectives)
    if (status.ok())
      status = nccl.check(start(each, found->second, stream), program::wordOf(each.kind), found->second);
  NcclCode ended = call.groupEnd(); // also where something went wrong, for the next group of this thread
  return status.ok() ? settle(nccl, found->second, ended, "starting collectives", goOn) : status;
}

Status NcclMessages::health() {
  if (!communicator)
    return {};
  for (void *each : all()) {
    NcclCode state = NcclCode::Success, code = nccl.call().getAsyncError(each, &state);
    if (Status status = nccl.check(code == NcclCode::Success ? state : code, "messages between GPUs", each); !status.ok())
      return status;
  }
  return {};
}

/// Uses a thread for each communicator. To release its memory a communicator may have to wait for the device, on which the work of another
/// communicator may be waiting to be aborted.
void NcclMessages::abort() {
  if (!communicator)
    return;
  (void)work.begin();
  std::vector<std::thread> threads;
  for (void *each : all())
    threads.emplace_back([this, each] { nccl.call().abort(each); });
  for (std::thread &thread : threads)
    thread.join();
  made.clear();
  communicator = nullptr;
}

} // namespace

Result<std::string> NcclNetwork::name() {
  Result<const NcclLibrary *> nccl = NcclLibrary::open();
  if (!nccl.ok())
    return nccl.status();
  return "NCCL " + (*nccl)->version();
}

Result<std::string> NcclNetwork::device() { return owner.uuid(); }

Result<std::vector<uint8_t>> NcclNetwork::newJob() {
  Result<const NcclLibrary *> nccl = NcclLibrary::open();
  if (!nccl.ok())
    return nccl.status();
  NcclJob job;
  owner.enter();
  if (Status status = (*nccl)->check((*nccl)->call().getUniqueId(&job), "a new job"); !status.ok())
    return status;
  return std::vector<uint8_t>(job.bytes, job.bytes + sizeof job.bytes);
}

Result<std::unique_ptr<DeviceMessages>> NcclNetwork::join(const std::vector<uint8_t> &job, uint32_t processes, uint32_t process,
                                                          const std::function<Status()> &goOn) {
  Result<const NcclLibrary *> opened = NcclLibrary::open();
  if (!opened.ok())
    return opened.status();
  const NcclLibrary &nccl = **opened;
  NcclJob id;
  if (job.size() != sizeof id.bytes)
    return Status(engine::Code::Internal, "a job of NCCL has " + std::to_string(job.size()) + " bytes");
  std::memcpy(id.bytes, job.data(), sizeof id.bytes);
  NcclConfig config;
  void *communicator = nullptr;
  ThreadWork &own = work();
  (void)own.begin();
  NcclCode code = nccl.call().initRank(&communicator, static_cast<int>(processes), id, static_cast<int>(process), &config);
  Status status = settle(nccl, communicator, code, "joining " + std::to_string(processes) + " processes", goOn);
  if (!status.ok()) {
    if (communicator)
      nccl.call().abort(communicator);
    return status;
  }
  return std::unique_ptr<DeviceMessages>(std::make_unique<NcclMessages>(nccl, communicator, process, own, goOn));
}

} // namespace npar::engine::cuda
