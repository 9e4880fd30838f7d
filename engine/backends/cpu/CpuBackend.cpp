// The processor: generated kernels from the program, matrix products from engine/product, attention from engine/attention, memory with
// alignment.
#include "engine/backends/cpu/CpuBackend.h"

#include "engine/backends/cpu/Workers.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace npar::engine {

namespace {
/// A part of a split step should last about this long, else handing it over costs more than it saves.
constexpr double partSeconds = 50e-6;
constexpr double bytesPerSecond = 8e9, kernelFlopsPerSecond = 4e9;
/// Below a page of pages malloc is as good as mmap.
constexpr uint64_t mapFrom = 1 << 21;
} // namespace

Status CpuBackend::load(const program::Program &program) {
  if (Status status = loadKernels(program); !status.ok())
    return status;
  if (Status status = products.load(program, spread, order); !status.ok())
    return status;
  if (Status status = attentions.load(program, spread, order,
                                      [this](uint32_t i) {
                                        return ScoreKernel{kernels[i].function, kernels[i].extent};
                                      });
      !status.ok())
    return status;
  scratch = std::make_unique<WorkerScratch>(std::max(products.bytesPerWorker(), attentions.bytesPerWorker()));
  return {};
}

uint64_t CpuBackend::bytesPerWorker(const program::Program &program, const Spread &spread) {
  uint64_t most = 0;
  for (program::ProductOrder order : {program::ProductOrder::Portable, program::ProductOrder::Pairs}) {
    Products products;
    Attentions attentions;
    if (!products.load(program, spread, order).ok() || !attentions.load(program, spread, order).ok())
      return 0;
    most = std::max({most, products.bytesPerWorker(), attentions.bytesPerWorker()});
  }
  return most;
}

Result<program::ProductOrder> fastestOrder() {
  TRY(InstructionSet set, bestInstructionSet());
  return fastestBf16(set) == ProductType::BF16Pairs ? program::ProductOrder::Pairs : program::ProductOrder::Portable;
}

Status CpuBackend::loadKernels(const program::Program &program) {
  auto *list = program.kernels();
  if (!list || list->size() == 0)
    return {};
  std::string others;
  const program::DeviceCode *own = nullptr;
  for (const program::DeviceCode *code : *program.codes())
    if (code->backend()->str() == name())
      own = code;
    else
      others += (others.empty() ? "" : ", ") + code->backend()->str();
  if (!own && others.empty())
    return Status::badInput("the program was compiled without kernels: it runs only on the null backend");
  if (!own)
    return Status::badInput("the program's kernels are for " + others + ", not for " + name() + ": compile it for this backend");
  if (Status status = checkTargetFeatures(own->features()->str()); !status.ok())
    return status;
  auto loaded = KernelObject::load(own->object()->data(), own->object()->size());
  if (!loaded.ok())
    return loaded.status();
  object = *loaded;
  for (const program::Kernel *kernel : *list) {
    std::string symbol = kernel->symbol() ? kernel->symbol()->str() : "";
    KernelFunction function = object->find(symbol);
    if (!function)
      return Status::badInput("the program's kernel object has no function '" + symbol + "'");
    kernels.push_back({function, kernel->extent(), kernel->flops()});
  }
  return {};
}

Result<DeviceAddress> CpuBackend::allocate(uint64_t bytes) {
  uint64_t rounded = std::max<uint64_t>((bytes + 63) / 64 * 64, 64);
  void *memory = nullptr;
  if (rounded >= bytes && rounded >= mapFrom) {
    memory = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      memory = nullptr;
    else
      ::madvise(memory, rounded, MADV_HUGEPAGE);
  } else if (rounded >= bytes && (memory = std::aligned_alloc(64, rounded))) {
    std::memset(memory, 0, rounded);
  }
  if (!memory)
    return Status::runFailed("cannot allocate an arena of " + std::to_string(bytes) + " bytes");
  return DeviceAddress(memory);
}

void CpuBackend::release(DeviceAddress memory, uint64_t bytes) {
  uint64_t rounded = std::max<uint64_t>((bytes + 63) / 64 * 64, 64);
  if (rounded >= mapFrom)
    ::munmap(memory.devicePointer(), rounded);
  else
    std::free(memory.devicePointer());
}

/// The device is the processor itself: its arena and the host's memory are apart, and each is counted.
Result<DeviceAddress> CpuBackend::allocateIn(program::Tier tier, size_t, uint64_t bytes, const std::string &folder) {
  return tier == program::Tier::File ? inFiles.allocate(folder, bytes) : allocate(bytes);
}

void CpuBackend::releaseIn(program::Tier tier, DeviceAddress memory, uint64_t bytes) {
  tier == program::Tier::File ? inFiles.release(memory) : release(memory, bytes);
}

// The C library demands pointers that are not null for no bytes too, which vectors without elements do not have.
void CpuBackend::copyIn(DeviceAddress target, const void *source, uint64_t bytes) {
  if (inFiles.holds(target))
    inFiles.write(target, source, bytes);
  else if (bytes)
    std::memcpy(target.devicePointer(), source, bytes);
}

void CpuBackend::copyOut(void *target, DeviceAddress source, uint64_t bytes) {
  if (inFiles.holds(source))
    inFiles.read(target, source, bytes);
  else if (bytes)
    std::memcpy(target, source.devicePointer(), bytes);
}

void CpuBackend::zero(DeviceAddress target, uint64_t bytes) {
  if (inFiles.holds(target))
    inFiles.zero(target, bytes);
  else
    std::memset(target.devicePointer(), 0, bytes);
}

void CpuBackend::copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) {
  if (inFiles.holds(target))
    inFiles.write(target, source.devicePointer(), bytes);
  else if (inFiles.holds(source))
    inFiles.read(target.devicePointer(), source, bytes);
  else if (target != source)
    std::memcpy(target.devicePointer(), source.devicePointer(), bytes);
}

Status CpuBackend::runKernel(uint32_t index, const DeviceAddress *addresses, size_t, const int64_t *context, uint64_t bytes) {
  auto *buffers = reinterpret_cast<void *const *>(addresses); // here an address is a pointer
  const Kernel &kernel = kernels[index];
  double seconds = spread.splitSteps ? bytes / bytesPerSecond + kernel.flops / kernelFlopsPerSecond : 0;
  int64_t parts = std::min<int64_t>(static_cast<int64_t>(std::min(seconds / partSeconds, 4.0 * spread.threads)), kernel.extent);
  if (parts <= 1) {
    kernel.function(buffers, context, 0, kernel.extent);
    return {};
  }
  forEachPart(parts, [&](int64_t i) { kernel.function(buffers, context, kernel.extent * i / parts, kernel.extent * (i + 1) / parts); });
  return {};
}

Status CpuBackend::runMatmul(uint32_t index, DeviceAddress a, DeviceAddress b, DeviceAddress c) {
  products.run(index, a.devicePointer(), b.devicePointer(), c.devicePointer(), *scratch);
  return {};
}

Status CpuBackend::runGrouped(uint32_t index, const DeviceAddress *buffers) {
  auto ranges = [&](int input) { return static_cast<const int32_t *>(buffers[input].devicePointer()); };
  products.runGrouped(index, buffers[0].devicePointer(), buffers[1].devicePointer(), {ranges(2), ranges(3)}, buffers[4].devicePointer(),
                      *scratch);
  return {};
}

Status CpuBackend::runAttention(uint32_t index, const DeviceAddress *addresses, size_t, const int64_t *context) {
  attentions.run(index, reinterpret_cast<void *const *>(addresses), context, *scratch); // here an address is a pointer
  return {};
}

} // namespace npar::engine
