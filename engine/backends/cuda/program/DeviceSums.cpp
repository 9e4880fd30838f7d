// Reductions over several GPUs, slice by slice.
#include "engine/backends/cuda/program/DeviceSums.h"

#include "engine/backends/cuda/ptx/ReduceText.h"
#include "engine/program/Elements.h"

#include <algorithm>

namespace npar::engine::cuda {

namespace {
/// Elements of a slice: whole ones keep every slice's beginning aligned, and what is smaller is not worth another GPU.
constexpr uint64_t leastSlice = 1024;
constexpr uint64_t alignment = 64;

DeviceAddress address(DevicePointer pointer) { return DeviceAddress(reinterpret_cast<void *>(pointer)); }
} // namespace

struct DeviceSums::Sum {
  program::ElementType type;
  program::ReduceOp op;
  const std::vector<PlacedAddress> &sources, &targets;
  uint64_t elementBytes;
};

DeviceSums::~DeviceSums() {
  for (size_t i = 0; i < rooms.size(); ++i) {
    const CudaDevice &gpu = gpus[i]->gpu();
    gpu.enter();
    gpu.cuda().call().contextSynchronize();
    if (rooms[i].given)
      gpu.cuda().call().eventDestroy(rooms[i].given);
    if (rooms[i].memory)
      gpu.release(rooms[i].memory);
  }
}

Status DeviceSums::reserve(uint64_t bytes) {
  rooms.resize(gpus.size());
  for (size_t i = 0; i < rooms.size() && bytes > roomBytes; ++i) {
    const CudaDevice &gpu = gpus[i]->gpu();
    gpu.enter();
    if (rooms[i].memory)
      gpu.release(std::exchange(rooms[i].memory, 0));
    Result<DevicePointer> memory = gpu.allocate(bytes, "sums over several GPUs");
    if (!memory.ok())
      return memory.status();
    rooms[i].memory = *memory;
    if (!rooms[i].given)
      if (Status status = gpu.cuda().check(gpu.cuda().call().eventCreate(&rooms[i].given, eventDisableTiming), gpu.label() + ": an event");
          !status.ok())
        return status;
  }
  roomBytes = std::max(roomBytes, bytes);
  return {};
}

void DeviceSums::start(program::ElementType type, program::ReduceOp op, const std::vector<PlacedAddress> &sources,
                       const std::vector<PlacedAddress> &targets, uint64_t count, DeviceOrder &order) {
  std::vector<size_t> group; // those of targets first: small reductions are theirs
  for (const std::vector<PlacedAddress> *places : {&targets, &sources})
    for (const PlacedAddress &place : *places)
      if (std::find(group.begin(), group.end(), place.device) == group.end())
        group.push_back(place.device);
  uint64_t each = (count + group.size() - 1) / group.size();
  each = (each + leastSlice - 1) / leastSlice * leastSlice;
  group.resize(std::min<uint64_t>(group.size(), (count + each - 1) / each));

  std::lock_guard<std::mutex> lock(mutex);
  order.goOn(group);
  Sum sum{type, op, sources, targets, program::sizeOf(type)};
  for (size_t i = 0; i < group.size(); ++i)
    addSlice(sum, group[i], i * each, std::min(each, count - i * each));
}

/// Elements [first, first + count), in rounds of as many as the room holds of all others' sources and the sum.
void DeviceSums::addSlice(const Sum &sum, size_t device, uint64_t first, uint64_t count) {
  const CudaDevice &gpu = gpus[device]->gpu();
  const Functions &call = gpu.cuda().call();
  ThreadWork &work = gpus[device]->threadWork();
  Handle stream = work.begin();
  Room &room = rooms[device];
  if (!stream)
    return;
  auto isForeign = [&](const PlacedAddress &place) { return place.device != device; };
  auto pieces = static_cast<uint64_t>(std::count_if(sum.sources.begin(), sum.sources.end(), isForeign)) + 1;
  uint64_t pieceBytes = roomBytes / pieces / alignment * alignment, most = pieceBytes / sum.elementBytes;
  if (most == 0)
    return work.note(Status::badInput("a reduction of " + std::to_string(sum.sources.size()) + " places over several GPUs"));
  if (std::exchange(room.wasUsed, true))
    work.note(call.streamWaitEvent(stream, room.given, 0), "a reduction over several GPUs");
  std::vector<DeviceAddress> from, to;
  for (uint64_t done = 0, now = 0; done < count; done += now) {
    now = std::min(most, count - done);
    uint64_t at = (first + done) * sum.elementBytes, bytes = now * sum.elementBytes;
    DevicePointer next = room.memory;
    from.clear(), to.clear();
    for (const PlacedAddress &source : sum.sources) {
      from.push_back(isForeign(source) ? address(next) : source.address + at);
      if (!isForeign(source))
        continue;
      work.note(gpu.copyAsync(next, pointer(source.address + at), gpus[source.device]->gpu(), bytes, stream), "a copy between GPUs");
      next += pieceBytes;
    }
    for (const PlacedAddress &target : sum.targets)
      if (!isForeign(target))
        to.push_back(target.address + at);
    if (to.empty())
      to.push_back(address(next));
    gpus[device]->reduce(sum.type, sum.op, from.data(), from.size(), to.data(), to.size(), now);
    for (const PlacedAddress &target : sum.targets)
      if (isForeign(target))
        work.note(gpus[target.device]->gpu().copyAsync(pointer(target.address + at), pointer(to[0]), gpu, bytes, stream),
                  "a copy between GPUs");
  }
  work.note(call.eventRecord(room.given, stream), "a reduction over several GPUs");
}

} // namespace npar::engine::cuda
