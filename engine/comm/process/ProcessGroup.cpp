// The processes of a job, seen from one of them: made by the driver at the start, and the source of communicators for sessions.
#include "engine/comm/process/ProcessGroup.h"

#include "engine/comm/process/Broadcast.h"
#include "engine/comm/process/Gathering.h"
#include "engine/comm/process/ProcessCommunicator.h"

#include <chrono>
#include <thread>

namespace npar::engine {

namespace {

constexpr uint32_t groupStream = 0;
constexpr double forEver = 365.0 * 24 * 3600;

class TransportGroup final : public ProcessGroup, private FrameReader {
public:
  explicit TransportGroup(std::shared_ptr<Progress> progress)
      : progress(std::move(progress)), frames(std::make_shared<Frames>(*this->progress)), gathering(*frames, groupStream),
        broadcasting(*frames) {}
  ~TransportGroup() override;
  void begin();
  uint32_t processes() const override { return progress->processes(); }
  uint32_t process() const override { return progress->process(); }
  std::string transportName() const override { return progress->transportName(); }
  uint32_t address() const override { return progress->address(); }
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) override {
    return gathering.gather(own, timeoutSeconds);
  }
  Result<std::vector<uint8_t>> broadcast(std::vector<uint8_t> bytes, double timeoutSeconds) override {
    return broadcasting.broadcast(std::move(bytes), timeoutSeconds);
  }
  void abort(const Status &status) override { fail(status); }
  std::shared_ptr<Communicator> communicator(Backend &backend, FailureChannel &failures) override {
    return std::make_shared<ProcessCommunicator>(progress, frames, ++streams, backend, failures);
  }
  Status leave() override;

private:
  void read(uint32_t from, const Frame &frame) override;
  void fail(const Status &status) override {
    gathering.fail(status);
    broadcasting.fail(status);
  }

  std::shared_ptr<Progress> progress;
  std::shared_ptr<Frames> frames;
  Gathering gathering;
  Broadcast broadcasting;
  uint32_t streams = groupStream;
};

TransportGroup::~TransportGroup() {
  progress->halt();
  (void)progress->end(/*leave=*/false);
}

void TransportGroup::begin() {
  progress->runAndWait(
      [this] {
        frames->open(groupStream, *this);
        frames->begin();
      },
      forEver);
}

void TransportGroup::read(uint32_t from, const Frame &frame) {
  switch (frame.head.kind) {
  case FrameKind::Gather:
    return gathering.read(from, frame);
  case FrameKind::Broadcast:
    return broadcasting.read(from, frame);
  case FrameKind::Envelope:
  case FrameKind::News:
  case FrameKind::Refusal:
    return frames->fail(Status::runFailed("process " + std::to_string(from) + " sends what belongs to a communicator to the group"));
  }
}

/// A process may leave once all processes have announced that they leave, and its own messages are sent, including those that it forwards
/// down the tree of the gather. From then on no process waits for another.
Status TransportGroup::leave() {
  if (Result<std::vector<std::vector<uint8_t>>> all = gather({}, forEver); !all.ok())
    return all.status();
  for (bool gone = false; !gone; std::this_thread::sleep_for(std::chrono::microseconds(100)))
    progress->runAndWait([&] { gone = (frames->leaving() == 0 && gathering.isQuiet()) || progress->hasHalted(); }, forEver);
  Status status = progress->end(/*leave=*/true);
  fail(Status(Code::Internal, "this process has left its group"));
  return status;
}

} // namespace

Result<std::shared_ptr<ProcessGroup>> ProcessGroup::open(OpenTransport transport) {
  Result<std::shared_ptr<Progress>> progress = Progress::start(std::move(transport));
  if (!progress.ok())
    return progress.status();
  auto group = std::make_shared<TransportGroup>(*progress);
  group->begin();
  return std::shared_ptr<ProcessGroup>(std::move(group));
}

} // namespace npar::engine
