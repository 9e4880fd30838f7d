// A lane's or thread's stream, its copies, contexts and recordings.
#include "engine/backends/cuda/driver/ThreadWork.h"

#include <algorithm>
#include <cstring>

namespace npar::engine::cuda {

namespace {
constexpr uint64_t stagingBytes = uint64_t{4} << 20;
} // namespace

ThreadWork::ThreadWork(const CudaDevice &device, Completions &completions, const LaneBytes &laneBytes)
    : device(device), completions(completions), laneBytes(laneBytes), queue(completions.addQueue()) {}

ThreadWork::~ThreadWork() {
  const Functions &call = device.cuda().call();
  device.enter();
  if (stream) {
    call.streamSynchronize(stream);
    call.streamDestroy(stream);
  }
  for (const auto &made : recordings)
    call.graphExecDestroy(made->executable);
  if (room)
    device.release(room);
  for (DevicePointer memory : contextMemory)
    device.release(memory);
  if (staging)
    device.releasePinned(staging);
}

Handle ThreadWork::begin() {
  device.enter();
  if (!stream)
    note(device.cuda().call().streamCreate(&stream, streamNonBlocking), "a stream");
  return stream;
}

void ThreadWork::note(Code code, const std::string &what) {
  if (code != Code::Success)
    note(device.cuda().check(code, device.label() + ": starting " + what));
}

void ThreadWork::note(const Status &status) {
  if (failed.ok())
    failed = status;
}

/// Returns memory for the next piece of a copy, or null if none could be allocated.
uint8_t *ThreadWork::stage(uint64_t bytes, uint64_t &piece) {
  if (!staging) {
    Result<void *> memory = device.allocatePinned(stagingBytes, "copies");
    if (!memory.ok()) {
      note(memory.status());
      return nullptr;
    }
    staging = static_cast<uint8_t *>(*memory);
  }
  if (used == stagingBytes)
    empty();
  piece = std::min(bytes, stagingBytes - used);
  uint8_t *room = staging + used;
  used = std::min(stagingBytes, used + (piece + 63) / 64 * 64);
  return room;
}

/// Waits until no copy needs the page-locked memory any more.
void ThreadWork::empty() {
  Code code = device.cuda().call().streamSynchronize(stream);
  note(code, "a copy");
  completions.waitForDeliveries(queue);
  if (code == Code::Success)
    deliver(arrivals);
  arrivals.clear();
  used = 0;
}

void ThreadWork::copyIn(DevicePointer target, const void *source, uint64_t bytes) {
  auto *from = static_cast<const uint8_t *>(source);
  for (uint64_t piece = 0; bytes > 0; bytes -= piece, from += piece, target += piece) {
    Handle to = begin();
    uint8_t *room = to ? stage(bytes, piece) : nullptr;
    if (!room)
      return;
    std::memcpy(room, from, piece);
    note(device.cuda().call().copyInAsync(target, room, piece, to), "a copy to the device");
  }
}

void ThreadWork::copyOut(void *target, DevicePointer source, uint64_t bytes) {
  auto *to = static_cast<uint8_t *>(target);
  for (uint64_t piece = 0; bytes > 0; bytes -= piece, to += piece, source += piece) {
    Handle from = begin();
    uint8_t *room = from ? stage(bytes, piece) : nullptr;
    if (!room)
      return;
    Code code = device.cuda().call().copyOutAsync(room, source, piece, from);
    note(code, "a copy from the device");
    if (code == Code::Success)
      arrivals.push_back({to, room, piece});
  }
}

void ThreadWork::reserve() {
  (void)begin();
  (void)deviceRoom();
  if (contextMemory.empty())
    addContextMemory(laneBytes.contexts);
}

bool ThreadWork::addContextMemory(uint64_t bytes) {
  Result<DevicePointer> memory = device.allocate(bytes, "contexts of kernels");
  if (!memory.ok())
    return note(memory.status()), false;
  contextMemory.push_back(*memory);
  contextsUsed = 0;
  return true;
}

DevicePointer ThreadWork::takeContext(uint64_t bytes) {
  if (contextMemory.empty() || contextsUsed + bytes > laneBytes.contexts)
    if (!addContextMemory(std::max(laneBytes.contexts, bytes)))
      return 0;
  DevicePointer taken = contextMemory.back() + contextsUsed;
  contextsUsed += bytes;
  return taken;
}

DevicePointer ThreadWork::context(const int64_t *numbers, size_t count) {
  Handle to = begin();
  auto [found, isNew] = contexts.try_emplace(numbers);
  Copy &copy = found->second;
  bool isOther = isNew || copy.numbers.size() != count;
  if (isOther)
    copy.memory = takeContext(count * sizeof(int64_t));
  if (!to || !copy.memory)
    return 0;
  if (isOther) { // none of its words is there
    copy.numbers.assign(numbers, numbers + count);
    for (int64_t &number : copy.numbers)
      number = ~number;
  }
  if (recording)
    recording->contexts.insert(numbers);
  else
    sendChanges(copy, numbers, to);
  return copy.memory;
}

/// Numbers that have changed go as the values of memsets, which a stream keeps itself: no memory of the host's has to stay as it is.
void ThreadWork::sendChanges(Copy &copy, const int64_t *numbers, Handle to) {
  for (size_t i = 0; i < copy.numbers.size(); ++i) {
    auto now = static_cast<uint64_t>(numbers[i]), before = static_cast<uint64_t>(copy.numbers[i]);
    for (int half = 0; half < 2; ++half)
      if (auto word = static_cast<uint32_t>(now >> (32 * half)); word != static_cast<uint32_t>(before >> (32 * half)))
        note(device.cuda().call().setWordsAsync(copy.memory + i * sizeof(int64_t) + 4 * half, word, 1, to), "a kernel's context");
    copy.numbers[i] = numbers[i];
  }
}

DevicePointer ThreadWork::deviceRoom() {
  if (room || laneBytes.room == 0)
    return room;
  Result<DevicePointer> memory = device.allocate(laneBytes.room, "scores of attention and workspaces of matrix products");
  if (!memory.ok())
    return note(memory.status()), 0;
  return room = *memory;
}

void ThreadWork::beginRecording() {
  Handle of = begin();
  recording = std::make_unique<Recording>();
  if (of)
    note(device.cuda().call().streamBeginCapture(of, captureThreadLocal), "recording");
}

Result<uint32_t> ThreadWork::endRecording() {
  const Functions &call = device.cuda().call();
  std::unique_ptr<Recording> made = std::move(recording);
  Status status = std::move(failed);
  failed = Status();
  Handle graph = nullptr;
  Code code = call.streamEndCapture(stream, &graph);
  if (code == Code::Success)
    code = call.graphInstantiate(&made->executable, graph, 0);
  if (graph)
    call.graphDestroy(graph);
  if (status.ok() && code != Code::Success)
    status = device.cuda().check(code, device.label() + ": recording steps as a CUDA graph");
  if (!status.ok()) {
    if (made->executable)
      call.graphExecDestroy(made->executable);
    return status;
  }
  recordings.push_back(std::move(made));
  return static_cast<uint32_t>(recordings.size() - 1);
}

void ThreadWork::replay(uint32_t number) {
  Handle to = begin();
  if (!to)
    return;
  const Recording &recorded = *recordings[number];
  for (const int64_t *numbers : recorded.contexts)
    sendChanges(contexts.at(numbers), numbers, to);
  note(device.cuda().call().graphLaunch(recorded.executable, to), "a CUDA graph");
}

/// Also of a thread that has started nothing: what completions were called before is over then.
void ThreadWork::whenDone(Completion &completion) {
  Handle to = begin();
  Status status = std::move(failed);
  failed = Status();
  if (!to)
    return completion.completed(status);
  completions.whenDone(queue, to, completion, std::move(status), std::move(arrivals));
  arrivals.clear();
}

} // namespace npar::engine::cuda
