// Kernels that the processor runs in the middle of a stream.
#include "engine/backends/cuda/HostKernels.h"

#include "engine/backends/cpu/CpuBackend.h"

#include <algorithm>

namespace npar::engine::cuda {

static uint64_t roundedUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

Status HostKernels::load(const program::Program &program, const std::vector<GpuKernel> &kernels) {
  for (const GpuKernel &kernel : kernels) {
    uint64_t bytes = 0;
    for (const KernelBuffer &buffer : kernel.buffers)
      bytes += roundedUp(buffer.bytes());
    most = std::max(most, kernel.onHost ? std::max<uint64_t>(bytes, 1) : 0);
  }
  if (most == 0)
    return {};
  const program::DeviceCode *own = nullptr;
  for (const program::DeviceCode *code : *program.codes())
    if (code->backend()->str() == "cpu")
      own = code;
  if (!own)
    return Status::badInput("the program has kernels that the processor runs for the GPU, and no code for the processor");
  if (Status status = checkTargetFeatures(own->features()->str()); !status.ok())
    return status;
  auto loaded = KernelObject::load(own->object()->data(), own->object()->size());
  if (!loaded.ok())
    return loaded.status();
  object = *loaded;
  functions.resize(kernels.size());
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    functions[i] = {object->find(kernels[i].name), program.kernels()->Get(i)->extent()};
    if (kernels[i].onHost && !functions[i].function)
      return Status::badInput("the program's kernel object has no function '" + kernels[i].name + "'");
  }
  return {};
}

void HostKernels::run(void *argument) {
  Job *job = static_cast<Job *>(argument);
  job->function.function(job->buffers.data(), job->context, 0, job->function.extent);
  HostKernels *owner = job->owner;
  if (!owner)
    return;
  std::lock_guard<std::mutex> lock(owner->jobsMutex);
  owner->jobs.erase(job->self);
}

HostKernels::Job *HostKernels::keep(Job job, ThreadWork &work) {
  if (work.isRecording()) {
    auto kept = std::make_shared<Job>(std::move(job));
    kept->owner = nullptr;
    work.keepWithRecording(kept);
    return kept.get();
  }
  std::lock_guard<std::mutex> lock(jobsMutex);
  jobs.push_back(std::move(job));
  jobs.back().self = std::prev(jobs.end());
  return &jobs.back();
}

void HostKernels::start(uint32_t index, const GpuKernel &kernel, const DeviceAddress *buffers, const int64_t *context, ThreadWork &work) {
  Handle stream = work.begin();
  uint8_t *memory = work.pinnedRoom();
  if (!stream || !memory)
    return;
  const Functions &call = device.cuda().call();
  // A result that lies on an operand has that one's place here, too.
  std::vector<void *> places;
  uint64_t used = 0;
  auto address = [&](size_t i) { return reinterpret_cast<DevicePointer>(buffers[i].devicePointer()); };
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    size_t same = 0;
    while (buffers[same] != buffers[i])
      ++same;
    if (same < i) {
      places.push_back(places[same]);
      continue;
    }
    places.push_back(memory + used);
    uint64_t bytes = 0;
    for (size_t other = i; other < kernel.buffers.size(); ++other)
      bytes = std::max<uint64_t>(bytes, buffers[other] == buffers[i] ? kernel.buffers[other].bytes() : 0);
    used += roundedUp(bytes);
    if (i < kernel.operands)
      work.note(call.copyOutAsync(places[i], address(i), kernel.buffers[i].bytes(), stream), "kernel '" + kernel.name + "'");
  }
  work.note(call.launchHostFunction(stream, run, keep({this, functions[index], places, context, {}}, work)),
            "kernel '" + kernel.name + "'");
  for (size_t i = kernel.operands; i < kernel.buffers.size(); ++i)
    work.note(call.copyInAsync(address(i), places[i], kernel.buffers[i].bytes(), stream), "kernel '" + kernel.name + "'");
}

} // namespace npar::engine::cuda
