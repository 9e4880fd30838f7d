// Finds out which GPU a piece of work is for, and hands it over.
#include "engine/backends/cuda/program/CudaDevices.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <shared_mutex>

namespace npar::engine::cuda {

namespace {
std::atomic<uint64_t> groupCount{0};

/// Bytes of memory for sums over GPUs: before a program is known, and at most.
constexpr uint64_t leastSums = uint64_t{1} << 20, mostSums = uint64_t{64} << 20;

/// Which GPU each address belongs to. Addresses are unique among the GPUs of a process (unified addressing), so one table serves all
/// backends that drive several GPUs. Safe to call from any thread.
class MemoryOwners {
public:
  /// The process's table.
  static MemoryOwners &all() {
    static auto *owners = new MemoryOwners; // never destroyed: threads may ask until the process ends
    return *owners;
  }
  void add(DevicePointer begin, uint64_t bytes, int ordinal) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    ranges[begin] = {begin + std::max<uint64_t>(bytes, 1), ordinal};
  }
  void remove(DevicePointer begin) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    ranges.erase(begin);
  }
  /// The ordinal of the GPU, or -1 for an address in no range.
  int find(DevicePointer address) {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto after = ranges.upper_bound(address);
    return after != ranges.begin() && address < std::prev(after)->second.end ? std::prev(after)->second.ordinal : -1;
  }

private:
  struct Range {
    DevicePointer end;
    int ordinal;
  };
  std::shared_mutex mutex;
  std::map<DevicePointer, Range> ranges; ///< by their beginnings
};

/// NCCL knows a process as one rank with one device.
class Unjoined final : public DeviceNetwork {
public:
  explicit Unjoined(size_t gpus)
      : why(Status::badInput("it has " + std::to_string(gpus) +
                             " GPUs, and NCCL joins processes with one each: start a process for each GPU, or give --cuda-gpus 1")) {}
  Result<std::string> name() override { return why; }
  Result<std::string> device() override { return why; }
  Result<std::vector<uint8_t>> newJob() override { return why; }
  Result<std::unique_ptr<DeviceMessages>> join(const std::vector<uint8_t> &, uint32_t, uint32_t, const std::function<Status()> &) override {
    return why;
  }

private:
  const Status why;
};
} // namespace

CudaDevices::CudaDevices(DeviceOrder::Gpus given, std::vector<std::string> remarks)
    : number(++groupCount), gpus(std::move(given)), said(std::move(remarks)), unjoined(new Unjoined(gpus.size())), sums(gpus) {}

Result<std::unique_ptr<Backend>> CudaDevices::open(DeviceOrder::Gpus gpus, std::vector<std::string> remarks) {
  std::unique_ptr<CudaDevices> all(new CudaDevices(std::move(gpus), std::move(remarks)));
  for (auto &gpu : all->gpus)
    for (auto &other : all->gpus)
      if (gpu != other)
        if (Status status = gpu->gpu().reach(other->gpu()); !status.ok())
          return status;
  if (Status status = all->sums.reserve(leastSums); !status.ok())
    return status;
  return std::unique_ptr<Backend>(std::move(all));
}

/// Streams of one GPU may wait for those of another: all come to rest before any goes.
CudaDevices::~CudaDevices() {
  for (auto &gpu : gpus) {
    gpu->gpu().enter();
    gpu->gpu().cuda().call().contextSynchronize();
  }
}

Status CudaDevices::load(const program::Program &program) {
  for (auto &gpu : gpus)
    if (Status status = gpu->load(program); !status.ok())
      return status;
  uint64_t largest = leastSums; // no reduction is larger than an arena
  if (program.classes())
    for (const program::RankClass *rankClass : *program.classes())
      largest = std::max(largest, rankClass->arena_bytes());
  return sums.reserve(std::min(largest, mostSums));
}

std::vector<std::string> CudaDevices::remarks() const {
  std::vector<std::string> all = said, own = gpus[0]->remarks(); // the others have the same products
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

DeviceOrder &CudaDevices::order() {
  static thread_local std::pair<uint64_t, DeviceOrder *> last{0, nullptr};
  if (last.first != number) {
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<DeviceOrder> &own = orders[std::this_thread::get_id()];
    if (!own)
      own = std::make_unique<DeviceOrder>(gpus);
    last = {number, own.get()};
  }
  return *last.second;
}

void CudaDevices::enterThread() {
  (void)order();
  for (auto &gpu : gpus)
    gpu->enterThread();
}

Status CudaDevices::prepareLanes(const std::vector<size_t> &devices) {
  std::vector<uint32_t> ofDevice(gpus.size());
  for (size_t device : devices)
    lanes.push_back({device, ofDevice[device]++});
  for (size_t i = 0; i < gpus.size(); ++i)
    if (Status status = gpus[i]->prepareLanes(std::vector<size_t>(ofDevice[i])); !status.ok())
      return status;
  return {};
}

void CudaDevices::enterLane(uint32_t lane) {
  if (CudaBackend *left = inLane())
    left->enterLane(noLane);
  entered = {number, lane == noLane ? nullptr : gpus[lanes[lane].device].get()};
  if (lane != noLane)
    entered.second->enterLane(lanes[lane].number);
}

Result<DeviceAddress> CudaDevices::allocateOn(size_t device, uint64_t bytes) {
  Result<DeviceAddress> memory = gpus[device]->allocate(bytes);
  if (!memory.ok())
    return memory;
  MemoryOwners::all().add(pointer(*memory), bytes, gpus[device]->ordinal());
  return memory;
}

void CudaDevices::release(DeviceAddress memory, uint64_t bytes) {
  std::optional<size_t> device = deviceOf(memory);
  if (!device)
    return;
  for (auto &gpu : gpus) { // copies of any of them may be under way
    gpu->gpu().enter();
    gpu->gpu().cuda().call().contextSynchronize();
  }
  MemoryOwners::all().remove(pointer(memory));
  gpus[*device]->release(memory, bytes);
}

std::optional<size_t> CudaDevices::deviceOf(DeviceAddress address) {
  int ordinal = MemoryOwners::all().find(pointer(address));
  for (size_t i = 0; ordinal >= 0 && i < gpus.size(); ++i)
    if (gpus[i]->ordinal() == ordinal)
      return i;
  order().note(Status(engine::Code::Internal, "work on memory that is none of the GPUs' of this process"));
  return std::nullopt;
}

void CudaDevices::copyIn(DeviceAddress target, const void *source, uint64_t bytes) {
  if (CudaBackend *own = inLane())
    return own->copyIn(target, source, bytes);
  if (std::optional<size_t> device = bytes > 0 ? deviceOf(target) : std::nullopt) {
    order().goOn(*device);
    gpus[*device]->copyIn(target, source, bytes);
  }
}

void CudaDevices::copyOut(void *target, DeviceAddress source, uint64_t bytes) {
  if (CudaBackend *own = inLane())
    return own->copyOut(target, source, bytes);
  if (std::optional<size_t> device = bytes > 0 ? deviceOf(source) : std::nullopt) {
    order().goOn(*device);
    gpus[*device]->copyOut(target, source, bytes);
  }
}

void CudaDevices::zero(DeviceAddress target, uint64_t bytes) {
  if (CudaBackend *own = inLane())
    return own->zero(target, bytes);
  if (std::optional<size_t> device = bytes > 0 ? deviceOf(target) : std::nullopt) {
    order().goOn(*device);
    gpus[*device]->zero(target, bytes);
  }
}

/// A copy between GPUs runs in the stream of the source's GPU.
void CudaDevices::copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) {
  if (CudaBackend *own = inLane())
    return own->copy(target, source, bytes);
  if (bytes == 0 || target == source)
    return;
  std::optional<size_t> to = deviceOf(target), from = deviceOf(source);
  if (!to || !from)
    return;
  order().goOn(*from);
  if (*to == *from)
    return gpus[*from]->copy(target, source, bytes);
  ThreadWork &work = gpus[*from]->threadWork();
  if (Handle stream = work.begin())
    work.note(gpus[*to]->gpu().copyAsync(pointer(target), pointer(source), gpus[*from]->gpu(), bytes, stream), "a copy between GPUs");
}

void CudaDevices::reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *sources, size_t sourceCount,
                         const DeviceAddress *targets, size_t targetCount, uint64_t count) {
  if (CudaBackend *own = inLane())
    return own->reduce(type, op, sources, sourceCount, targets, targetCount, count);
  if (count == 0 || targetCount == 0)
    return;
  std::vector<PlacedAddress> from, to;
  bool together = true;
  for (size_t i = 0; i < sourceCount + targetCount; ++i) {
    DeviceAddress address = i < sourceCount ? sources[i] : targets[i - sourceCount];
    std::optional<size_t> device = deviceOf(address);
    if (!device)
      return;
    (i < sourceCount ? from : to).push_back({address, *device});
    together &= *device == from[0].device;
  }
  if (!together)
    return sums.start(type, op, from, to, count, order());
  order().goOn(from[0].device);
  gpus[from[0].device]->reduce(type, op, sources, sourceCount, targets, targetCount, count);
}

Result<CudaBackend *> CudaDevices::goOnWith(DeviceAddress operand) {
  std::optional<size_t> device = deviceOf(operand);
  if (!device)
    return Status(engine::Code::Internal, "a step of memory that is none of the GPUs' of this process");
  order().goOn(*device);
  return gpus[*device].get();
}

Status CudaDevices::runKernel(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context, uint64_t bytes) {
  if (CudaBackend *own = inLane())
    return own->runKernel(kernel, buffers, bufferCount, context, bytes);
  Result<CudaBackend *> gpu = goOnWith(buffers[0]);
  return gpu.ok() ? (*gpu)->runKernel(kernel, buffers, bufferCount, context, bytes) : gpu.status();
}

Status CudaDevices::runKernels(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, size_t count, const int64_t *context,
                               uint64_t bytes) {
  CudaBackend *own = inLane();
  return own ? own->runKernels(kernel, buffers, bufferCount, count, context, bytes)
             : Backend::runKernels(kernel, buffers, bufferCount, count, context, bytes);
}

Status CudaDevices::runMatmul(uint32_t matmul, DeviceAddress a, DeviceAddress b, DeviceAddress c) {
  if (CudaBackend *own = inLane())
    return own->runMatmul(matmul, a, b, c);
  Result<CudaBackend *> gpu = goOnWith(c);
  return gpu.ok() ? (*gpu)->runMatmul(matmul, a, b, c) : gpu.status();
}

Status CudaDevices::runGrouped(uint32_t matmul, const DeviceAddress *buffers) {
  if (CudaBackend *own = inLane())
    return own->runGrouped(matmul, buffers);
  Result<CudaBackend *> gpu = goOnWith(buffers[0]);
  return gpu.ok() ? (*gpu)->runGrouped(matmul, buffers) : gpu.status();
}

Status CudaDevices::runAttention(uint32_t attention, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context) {
  if (CudaBackend *own = inLane())
    return own->runAttention(attention, buffers, bufferCount, context);
  Result<CudaBackend *> gpu = goOnWith(buffers[0]);
  return gpu.ok() ? (*gpu)->runAttention(attention, buffers, bufferCount, context) : gpu.status();
}

void CudaDevices::whenDone(Completion &completion) {
  CudaBackend *own = inLane();
  own ? own->whenDone(completion) : order().whenDone(completion);
}

} // namespace npar::engine::cuda
