// GPUs of several processes joined by NCCL.
#include "engine/backends/cuda/NcclNetwork.h"

#include <chrono>
#include <cstring>
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

class NcclMessages final : public DeviceMessages {
public:
  NcclMessages(const NcclLibrary &nccl, void *communicator, ThreadWork &work, std::function<Status()> goOn)
      : nccl(nccl), communicator(communicator), work(work), goOn(std::move(goOn)) {}
  ~NcclMessages() override;
  Status exchange(const std::vector<DeviceMessage> &messages) override;
  Status health() override;
  void abort() override;

private:
  const NcclLibrary &nccl;
  void *communicator; ///< null: aborted
  ThreadWork &work;
  std::function<Status()> goOn;
};

/// All processes leave at the same time; one that does not come must not hold up the others.
NcclMessages::~NcclMessages() {
  if (!communicator)
    return;
  (void)work.begin();
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  auto soon = [&] { return std::chrono::steady_clock::now() < end ? Status() : Status::runFailed("it takes too long"); };
  if (settle(nccl, communicator, nccl.call().finalize(communicator), "leaving", soon).ok())
    nccl.call().destroy(communicator);
  else
    nccl.call().abort(communicator);
}

Status NcclMessages::exchange(const std::vector<DeviceMessage> &messages) {
  Handle stream = work.begin();
  if (!stream || !communicator)
    return {}; // whoever waits for the stream hears why
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

Status NcclMessages::health() {
  NcclCode state = NcclCode::Success;
  if (!communicator)
    return {};
  NcclCode code = nccl.call().getAsyncError(communicator, &state);
  return nccl.check(code == NcclCode::Success ? state : code, "messages between GPUs", communicator);
}

void NcclMessages::abort() {
  if (!communicator)
    return;
  (void)work.begin();
  nccl.call().abort(communicator);
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
  return std::unique_ptr<DeviceMessages>(std::make_unique<NcclMessages>(nccl, communicator, own, goOn));
}

} // namespace npar::engine::cuda
