// A device whose memory the processor cannot access: the CPU backend with invalid addresses, and optionally with asynchronous work.
#include "tests/engine/device/OffsetBackend.h"

#include <vector>

namespace npar::testing {

using namespace engine;

namespace {

/// Bits 47 to 63 of a pointer of x86-64 and of AArch64 are equal (in user space 0): an address with this bit faults wherever it is
/// followed.
constexpr uint64_t offset = uint64_t{1} << 62;

DeviceAddress faked(DeviceAddress real) { return real + offset; }
DeviceAddress real(DeviceAddress fake) { return fake ? fake + (0 - offset) : fake; }

std::vector<DeviceAddress> real(const DeviceAddress *fakes, size_t count) {
  std::vector<DeviceAddress> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(real(fakes[i]));
  return result;
}

} // namespace

OffsetBackend::OffsetBackend(std::unique_ptr<Backend> inner, bool queued) : inner(std::move(inner)), queued(queued) {
  if (queued)
    thread = std::thread([this] { run(); });
}

OffsetBackend::~OffsetBackend() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  if (thread.joinable())
    thread.join();
}

void OffsetBackend::run() {
  inner->enterThread();
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return stopping || !queue.empty(); });
    if (queue.empty())
      return;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

Status OffsetBackend::start(Work work) {
  if (!queued)
    return work();
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto kept = recording.find(starter().first); kept != recording.end())
      return kept->second.push_back(std::move(work)), Status();
    queue.push_back([this, work = std::move(work), starter = starter()] {
      if (Status status = work(); !status.ok())
        failed.emplace(starter, status);
    });
  }
  wake.notify_one();
  return {};
}

OffsetBackend::Starter OffsetBackend::starter() const {
  uint32_t lane = entered.first == this ? entered.second : noLane;
  return {lane, lane == noLane ? std::this_thread::get_id() : std::thread::id()};
}

void OffsetBackend::beginRecording() {
  std::lock_guard<std::mutex> lock(mutex);
  recording[starter().first] = {};
}

Result<uint32_t> OffsetBackend::endRecording() {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::vector<Work>> &made = recordings[starter().first];
  made.push_back(std::move(recording.at(starter().first)));
  recording.erase(starter().first);
  return static_cast<uint32_t>(made.size() - 1);
}

void OffsetBackend::replay(uint32_t number) {
  std::vector<Work> works;
  {
    std::lock_guard<std::mutex> lock(mutex);
    works = recordings.at(starter().first)[number];
  }
  for (Work &work : works)
    (void)start(std::move(work));
}

Result<DeviceAddress> OffsetBackend::allocate(uint64_t bytes) {
  Result<DeviceAddress> memory = inner->allocate(bytes);
  return memory.ok() ? Result<DeviceAddress>(faked(*memory)) : memory;
}

void OffsetBackend::release(DeviceAddress memory, uint64_t bytes) {
  ++releases;
  inner->release(real(memory), bytes);
}

void OffsetBackend::copyIn(DeviceAddress target, const void *source, uint64_t bytes) {
  (void)start([=] { return inner->copyIn(real(target), source, bytes), Status(); });
}

void OffsetBackend::copyOut(void *target, DeviceAddress source, uint64_t bytes) {
  (void)start([=] { return inner->copyOut(target, real(source), bytes), Status(); });
}

void OffsetBackend::zero(DeviceAddress target, uint64_t bytes) {
  (void)start([=] { return inner->zero(real(target), bytes), Status(); });
}

void OffsetBackend::copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) {
  (void)start([=] { return inner->copy(real(target), real(source), bytes), Status(); });
}

void OffsetBackend::reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *sources, size_t sourceCount,
                           const DeviceAddress *targets, size_t targetCount, uint64_t count) {
  (void)start([this, type, op, from = real(sources, sourceCount), to = real(targets, targetCount), count] {
    inner->reduce(type, op, from.data(), from.size(), to.data(), to.size(), count);
    return Status();
  });
}

Status OffsetBackend::runKernel(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context, uint64_t bytes) {
  if (kernels++ == lostAtKernel)
    return start([] { return Status::runFailed("the device was lost"); });
  return start([this, kernel, to = real(buffers, bufferCount), context, bytes] {
    return inner->runKernel(kernel, to.data(), to.size(), context, bytes);
  });
}

Status OffsetBackend::runMatmul(uint32_t matmul, DeviceAddress a, DeviceAddress b, DeviceAddress c) {
  return start([=] { return inner->runMatmul(matmul, real(a), real(b), real(c)); });
}

Status OffsetBackend::runGrouped(uint32_t matmul, const DeviceAddress *buffers) {
  constexpr size_t count = 5;
  return start([this, matmul, to = real(buffers, count)] { return inner->runGrouped(matmul, to.data()); });
}

Status OffsetBackend::runAttention(uint32_t attention, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context) {
  return start([this, attention, to = real(buffers, bufferCount), context] {
    return inner->runAttention(attention, to.data(), to.size(), context);
  });
}

void OffsetBackend::whenDone(Completion &completion) {
  if (!queued)
    return completion.completed({});
  (void)start([this, &completion, starter = starter()] {
    Status status;
    if (auto found = failed.find(starter); found != failed.end()) {
      status = found->second;
      failed.erase(found);
    }
    completion.completed(status);
    return Status();
  });
}

} // namespace npar::testing
