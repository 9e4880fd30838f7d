// npar_gpu_kernels PROGRAM.npx [--time]: runs each kernel of a program for GPUs on the first GPU, on random operands, and compares the
// bytes of its results with those of the same kernel on the processor, apart and in place. Exit code 0: all are equal, 3: some are not, 77:
// there is no GPU. --time takes operands without infinities and the like, leaves out what takes the processor long, and prints GB/s.
#include "engine/backends/cpu/KernelObject.h"
#include "engine/backends/cuda/ptx/KernelText.h"
#include "engine/program/Loader.h"
#include "tests/engine/backends/gpu/CudaDriver.h"
#include "tests/engine/backends/gpu/RandomBuffer.h"

#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>

using namespace npar;
using namespace npar::engine;
using cuda::GpuKernel, cuda::KernelBuffer, cuda::readKernelLines;

namespace {
constexpr int skipped = 77, differs = 3;
constexpr size_t longBytes = size_t{1} << 30; ///< what --time does not compare

int64_t context[16] = {/*step*/ 3, /*micro*/ 1, /*seed*/ 12345}; ///< the coordinates are 0

/// A kernel's buffers on both sides.
class Buffers {
public:
  Buffers(const CudaDriver &cuda, const GpuKernel &kernel, int64_t entries, bool special) : cuda(cuda), kernel(kernel) {
    std::mt19937_64 random(7);
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      const KernelBuffer &buffer = kernel.buffers[i];
      auto *bytes = static_cast<uint8_t *>(std::aligned_alloc(64, (buffer.bytes() + 63) / 64 * 64));
      host.emplace_back(bytes, std::free);
      if (i < kernel.operands)
        fillBuffer(buffer, bytes, random, entries, special);
      else
        std::memset(bytes, 0xFF, buffer.bytes());
      device.push_back(cuda.allocate(std::max<size_t>(buffer.bytes(), 1)));
      reset(i);
    }
  }
  ~Buffers() {
    for (CudaDriver::Address address : device)
      cuda.release(address);
  }
  Buffers(const Buffers &) = delete;

  void runOnProcessor(KernelFunction function, int64_t extent) {
    std::vector<void *> pointers;
    for (auto &bytes : host)
      pointers.push_back(bytes.get());
    std::vector<std::thread> threads;
    auto parts = static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()));
    for (int64_t i = 0; i < parts; ++i)
      threads.emplace_back([&, i] { function(pointers.data(), context, extent * i / parts, extent * (i + 1) / parts); });
    for (std::thread &thread : threads)
      thread.join();
  }
  double runOnGpu(CudaDriver::Handle function, CudaDriver::Address contextAddress, std::vector<CudaDriver::Address> pointers,
                  int count = 1) {
    auto blocks = static_cast<unsigned>((kernel.extent + kernel.rows - 1) / kernel.rows);
    void *arguments[] = {pointers.data(), &contextAddress};
    if (!kernel.many)
      return cuda.run(function, blocks, kernel.threads, arguments, count);
    uint64_t bytes = pointers.size() * sizeof(CudaDriver::Address);
    CudaDriver::Address table = cuda.allocate(bytes);
    cuda.copyIn(table, pointers.data(), bytes);
    void *ofMany[] = {&table, &bytes, &contextAddress};
    double seconds = cuda.run(function, blocks, kernel.threads, ofMany, count);
    cuda.release(table);
    return seconds;
  }
  size_t differencesOf(size_t buffer, CudaDriver::Address place) {
    std::vector<uint8_t> bytes(kernel.buffers[buffer].bytes());
    cuda.copyOut(bytes.data(), place, bytes.size());
    return countDifferences(kernel.buffers[buffer], host[buffer].get(), bytes.data());
  }
  void reset(size_t buffer) { cuda.copyIn(device[buffer], host[buffer].get(), kernel.buffers[buffer].bytes()); }

  const CudaDriver &cuda;
  const GpuKernel &kernel;
  std::vector<std::unique_ptr<uint8_t, decltype(&std::free)>> host;
  std::vector<CudaDriver::Address> device;
};

int64_t extentOnProcessor(const program::Program &program, const std::string &name) {
  for (const program::Kernel *kernel : *program.kernels())
    if (kernel->symbol()->str() == name)
      return kernel->extent();
  return 0;
}

/// The integers that no lookup of the model refuses.
int64_t entriesOf(const program::Program &program) {
  int64_t entries = 1000;
  for (const program::LogicalInput *input : *program.inputs())
    if (input->classes() > 0)
      entries = std::min(entries, input->classes());
  return entries;
}

// First all results have memory of their own, then each one that may share memory with an operand does.
size_t compare(Buffers &buffers, CudaDriver::Handle function, CudaDriver::Address contextAddress) {
  const GpuKernel &kernel = buffers.kernel;
  size_t count = 0;
  buffers.runOnGpu(function, contextAddress, buffers.device);
  for (size_t i = kernel.operands; i < kernel.buffers.size(); ++i)
    count += buffers.differencesOf(i, buffers.device[i]);
  for (auto [result, operand] : kernel.inplace) {
    std::vector<CudaDriver::Address> pointers = buffers.device;
    pointers[kernel.operands + result] = pointers[operand];
    buffers.runOnGpu(function, contextAddress, pointers);
    for (size_t i = kernel.operands; i < kernel.buffers.size(); ++i)
      count += buffers.differencesOf(i, pointers[i]);
    buffers.reset(operand);
  }
  return count;
}

int fail(const Status &status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
} // namespace

int main(int argc, char **argv) {
  bool timing = argc == 3 && std::strcmp(argv[2], "--time") == 0;
  if (argc != 2 && !timing) {
    std::fprintf(stderr, "usage: npar_gpu_kernels PROGRAM.npx [--time]\n");
    return 2;
  }
  auto program = program::LoadedProgram::fromFile(argv[1]);
  if (!program.ok())
    return fail(program.status());
  const program::DeviceCode *own = nullptr, *other = nullptr;
  for (const program::DeviceCode *code : *(*program)->root().codes())
    (code->backend()->str() == "cpu" ? own : other) = code;
  if (!own || !other)
    return fail(Status::badInput("the program has no kernels for GPUs: compile it with --target"));
  auto object = KernelObject::load(own->object()->data(), own->object()->size());
  if (!object.ok())
    return fail(object.status());
  std::string text(other->object()->begin(), other->object()->end());
  auto kernels = readKernelLines(text);
  if (!kernels.ok())
    return fail(kernels.status());
  auto cuda = CudaDriver::open();
  if (!cuda.ok()) {
    std::fprintf(stderr, "skipped: %s\n", cuda.status().message().c_str());
    return skipped;
  }
  std::printf("%s, kernels for %s\n", cuda->name().c_str(), other->features()->c_str());
  CudaDriver::Handle module = cuda->loadModule(text);
  CudaDriver::Address contextAddress = cuda->allocate(sizeof context);
  cuda->copyIn(contextAddress, context, sizeof context);
  size_t good = 0, bad = 0;
  for (const GpuKernel &kernel : *kernels) {
    size_t bytes = 0;
    for (const KernelBuffer &buffer : kernel.buffers)
      bytes += buffer.bytes();
    CudaDriver::Handle function = cuda->function(module, kernel.name);
    Buffers buffers(*cuda, kernel, entriesOf((*program)->root()), !timing);
    size_t differences = 0;
    if (!timing || bytes < longBytes) {
      KernelFunction processor = (*object)->find(kernel.name);
      if (!processor)
        return fail(Status::badInput("kernel '" + kernel.name + "' is not among the processor's"));
      buffers.runOnProcessor(processor, extentOnProcessor((*program)->root(), kernel.name));
      differences = compare(buffers, function, contextAddress);
    }
    ++(differences ? bad : good);
    auto attribute = [&](CudaDriver::Attribute which) { return cuda->attribute(function, which); };
    if (timing) {
      double first = buffers.runOnGpu(function, contextAddress, buffers.device);
      double seconds = buffers.runOnGpu(function, contextAddress, buffers.device, first < 1e-3 ? 20 : 3);
      std::printf("%-32s %4d registers %5d local %9.2f MB %10.2f us %8.1f GB/s\n", kernel.name.c_str(),
                  attribute(CudaDriver::Attribute::Registers), attribute(CudaDriver::Attribute::LocalBytes), bytes / 1e6, seconds * 1e6,
                  bytes / seconds / 1e9);
    }
    if (differences)
      std::printf("%s: %zu elements differ\n", kernel.name.c_str(), differences);
  }
  std::printf("%zu kernels with equal bits, %zu with others\n", good, bad);
  return bad ? differs : 0;
}
