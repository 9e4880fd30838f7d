// The processor: generated kernels from the program, matrix products from oneDNN, memory with alignment.
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
constexpr double bytesPerSecond = 8e9, kernelFlopsPerSecond = 4e9, matmulFlopsPerSecond = 100e9;
/// Below a page of pages malloc is as good as mmap.
constexpr uint64_t mapFrom = 1 << 21;
constexpr size_t maxBatchDimensions = 16;
} // namespace

Status CpuBackend::load(const program::Program &program) {
  if (Status status = loadKernels(program); !status.ok())
    return status;
  if (auto *list = program.matmuls())
    for (size_t i = 0; i < list->size(); ++i)
      if (Status status = loadMatmul(*list->Get(i), i); !status.ok())
        return status;
  return {};
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
    return Status::badInput("the program was compiled without kernels: it runs on the null backend only");
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

Status CpuBackend::loadMatmul(const program::Matmul &matmul, size_t index) {
  MatmulShape shape;
  shape.type = matmul.type(), shape.result = matmul.result();
  shape.m = matmul.m(), shape.n = matmul.n(), shape.k = matmul.k();
  shape.aRow = matmul.a_row(), shape.aColumn = matmul.a_column();
  shape.bRow = matmul.b_row(), shape.bColumn = matmul.b_column();
  shape.cRow = matmul.c_row(), shape.accumulate = matmul.accumulate();
  std::string what = "matrix product " + std::to_string(index);
  if (shape.type == program::ElementType::I32 || shape.type == program::ElementType::U8)
    return Status::badInput(what + " has an element type other than f32, f64, bf16 and f16");

  Product product;
  int64_t count = 1;
  auto take = [](const flatbuffers::Vector<int64_t> *from, std::vector<int64_t> &to) {
    if (from)
      to.assign(from->begin(), from->end());
  };
  take(matmul.batch(), product.batch);
  take(matmul.a_batch(), product.aBatch);
  take(matmul.b_batch(), product.bBatch);
  take(matmul.c_batch(), product.cBatch);
  if (product.aBatch.size() != product.batch.size() || product.bBatch.size() != product.batch.size() ||
      product.cBatch.size() != product.batch.size())
    return Status::badInput(what + ": its batch strides do not match its batch list");
  if (product.batch.size() > maxBatchDimensions)
    return Status::badInput(what + " has more than " + std::to_string(maxBatchDimensions) + " batch dimensions");
  for (int64_t n : product.batch)
    count *= n;

  // The library blocks k by what it sees of the matrix, by rules that differ between processors: so the split over rows is part of the
  // program's meaning, a function of the shape alone, and a single worker computes the parts one after the other.
  double seconds = 2.0 * shape.m * shape.n * shape.k * count / matmulFlopsPerSecond;
  int parts = static_cast<int>(std::min<double>(matmulMaxParts, seconds / partSeconds));
  for (parts = std::max(parts, 1);; --parts) {
    product.parts = parts;
    product.rows = rowsPerPart(shape.m, parts);
    if (parts > 1 && product.rows * (parts - 1) >= shape.m)
      continue;
    MatmulShape piece = shape;
    piece.m = product.rows;
    auto body = Matmul::create(piece);
    piece.m = shape.m - product.rows * (parts - 1);
    auto last = Matmul::create(piece);
    if (!body.ok() || !last.ok()) {
      if (parts > 1)
        continue;
      return Status(body.status().ok() ? last.status() : body.status());
    }
    product.body = *body, product.last = *last;
    product.scratchPerPart = std::max(product.body->scratchBytes(), product.last->scratchBytes());
    if (product.scratchPerPart * parts <= matmul.workspace())
      break;
    if (parts == 1)
      return Status::badInput(what + " (" + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k) +
                              ") needs " + std::to_string(product.scratchPerPart) + " bytes of workspace on this machine, but " +
                              std::to_string(matmul.workspace()) + " are planned: compile the program on this machine");
  }
  product.aRow = shape.aRow, product.cRow = shape.cRow;
  product.elementSize = static_cast<int64_t>(program::sizeOf(shape.type));
  product.resultSize = static_cast<int64_t>(program::sizeOf(shape.result));
  products.push_back(std::move(product));
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

void CpuBackend::enterThread() { useOneOpenMpThread(); }

void CpuBackend::copyIn(DeviceAddress target, const void *source, uint64_t bytes) { std::memcpy(target.devicePointer(), source, bytes); }

void CpuBackend::copyOut(void *target, DeviceAddress source, uint64_t bytes) { std::memcpy(target, source.devicePointer(), bytes); }

void CpuBackend::zero(DeviceAddress target, uint64_t bytes) { std::memset(target.devicePointer(), 0, bytes); }

void CpuBackend::copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) {
  if (target != source)
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

Status CpuBackend::runMatmul(uint32_t index, DeviceAddress left, DeviceAddress right, DeviceAddress result, DeviceAddress workspace) {
  const void *a = left.devicePointer(), *b = right.devicePointer();
  void *c = result.devicePointer(), *scratch = workspace.devicePointer();
  const Product &product = products[index];
  auto runPart = [&](int64_t part) -> Status {
    const Matmul &matmul = part + 1 < product.parts ? *product.body : *product.last;
    auto at = [](const void *base, int64_t elements, int64_t size) { return static_cast<const uint8_t *>(base) + elements * size; };
    void *own = static_cast<uint8_t *>(scratch) + part * product.scratchPerPart;
    int64_t aOffset = part * product.rows * product.aRow, bOffset = 0, cOffset = part * product.rows * product.cRow;
    size_t depth = product.batch.size();
    int64_t position[maxBatchDimensions] = {};
    while (true) {
      if (Status status = matmul.run(at(a, aOffset, product.elementSize), at(b, bOffset, product.elementSize),
                                     const_cast<uint8_t *>(at(c, cOffset, product.resultSize)), own);
          !status.ok())
        return status;
      size_t d = depth;
      for (; d > 0; --d) {
        aOffset += product.aBatch[d - 1], bOffset += product.bBatch[d - 1], cOffset += product.cBatch[d - 1];
        if (++position[d - 1] < product.batch[d - 1])
          break;
        int64_t n = product.batch[d - 1];
        aOffset -= n * product.aBatch[d - 1], bOffset -= n * product.bBatch[d - 1], cOffset -= n * product.cBatch[d - 1];
        position[d - 1] = 0;
      }
      if (d == 0)
        return {};
    }
  };
  if (product.parts == 1)
    return runPart(0);
  Status results[matmulMaxParts];
  if (!spread.splitSteps) {
    for (int64_t part = 0; part < product.parts && results[0].ok(); ++part)
      results[0] = runPart(part);
    return results[0];
  }
  forEachPart(product.parts, [&](int64_t part) { results[part] = runPart(part); });
  for (Status &status : results)
    if (!status.ok())
      return status;
  return {};
}

} // namespace npar::engine
