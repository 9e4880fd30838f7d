// A GPU over CUDA's driver: starts what the engine asks for in the stream of the calling thread.
#include "engine/backends/cuda/program/CudaBackend.h"

#include "engine/backends/cuda/ptx/ReduceText.h"
#include "engine/program/RateWords.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace npar::engine::cuda {

namespace {
std::atomic<uint64_t> backendCount{0};

} // namespace

CudaBackend::CudaBackend(std::unique_ptr<CudaDevice> given, int ordinal, ProductsBy by, AttentionBy attentionBy)
    : device(std::move(given)), place(ordinal), by(by), attentionBy(attentionBy), number(++backendCount), completions(*device),
      gpus(*device, [this]() -> ThreadWork & { return threadWork(); }) {}

std::string CudaBackend::name() const {
  std::string words = by == ProductsBy::Own ? "cuda" : by == ProductsBy::Matching ? "cuda, matching" : "cuda, library";
  return attentionBy == AttentionBy::Own ? words : words + ", attention by library";
}

std::vector<std::string> CudaBackend::remarks() const {
  std::vector<std::string> said = products.remarks();
  for (std::string &remark : attentions.remarks())
    said.push_back(std::move(remark));
  return said;
}

Result<std::unique_ptr<CudaBackend>> CudaBackend::open(const CudaDriver &driver, int ordinal, const std::string &products,
                                                       const std::string &attention) {
  Result<ProductsBy> by = productsBy(products);
  if (!by.ok())
    return by.status();
  Result<AttentionBy> attends = cuda::attentionBy(attention);
  if (!attends.ok())
    return attends.status();
  auto device = CudaDevice::open(driver, ordinal);
  if (!device.ok())
    return device.status();
  std::unique_ptr<CudaBackend> backend(new CudaBackend(std::move(*device), ordinal, *by, *attends));
  if (Status status = backend->loadReductions(); !status.ok())
    return status;
  return backend;
}

ThreadWork &CudaBackend::threadWork() {
  if (entered.first == number && entered.second)
    return *entered.second;
  static thread_local std::array<std::pair<uint64_t, ThreadWork *>, 16> ofThread{}; // a process may drive several devices
  std::pair<uint64_t, ThreadWork *> &last = ofThread[number % ofThread.size()];
  if (last.first != number) {
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<ThreadWork> &own = threads[std::this_thread::get_id()];
    if (!own)
      own = std::make_unique<ThreadWork>(*device, completions, laneBytes);
    last = {number, own.get()};
  }
  return *last.second;
}

Status CudaBackend::loadReductions() {
  std::vector<std::string> names;
  for (program::ElementType type : program::EnumValuesElementType())
    for (program::ReduceOp op : program::EnumValuesReduceOp())
      names.push_back(reduceName(type, op));
  Result<std::vector<Handle>> found = device->load(reduceText(), "kernels of reductions", names);
  if (!found.ok())
    return found.status();
  for (size_t i = 0; i < names.size(); ++i)
    reductions[names[i]] = (*found)[i];
  return {};
}

Status CudaBackend::load(const program::Program &program) {
  contextCount = program::contextWordsOf(program);
  if (Status status = attentions.load(program, *device, attentionBy); !status.ok()) // refuses the most, and takes little
    return status;
  if (Status status = products.load(program, *device, by); !status.ok())
    return status;
  if (Status status = loadKernels(program); !status.ok())
    return status;
  laneBytes.room = std::max(attentions.roomBytes(), products.workspaceBytes());
  laneBytes.contexts = std::max(laneBytes.contexts, contextBytes(program));
  return attentions.takeKernels(kernels, functions);
}

/// Bytes of a rank's contexts, one for each micro-batch, and of the pointers of kernels that read them from device memory.
uint64_t CudaBackend::contextBytes(const program::Program &program) const {
  uint64_t most = 0, contexts = static_cast<uint64_t>(program.micro_count()) * contextCount;
  for (const program::RankClass *rankClass : *program.classes()) {
    uint64_t pointers = 0;
    for (const program::Task *task : *rankClass->tasks())
      for (const program::Step *step : *rankClass->fragments()->Get(task->fragment())->steps())
        if (step->kind() == program::StepKind::Kernel && kernels[step->payload()].many)
          pointers += uint64_t{step->inputs()} + step->outputs();
    most = std::max(most, pointers);
  }
  return (contexts + most) * sizeof(int64_t);
}

/// The newest architecture among those of the program that the device runs.
Result<const program::DeviceCode *> CudaBackend::chooseCode(const program::Program &program) const {
  const program::DeviceCode *best = nullptr;
  int bestArchitecture = 0, own = device->identity().architecture;
  std::string others;
  for (const program::DeviceCode *code : *program.codes()) {
    if (code->backend()->str() != "cuda")
      continue;
    std::string features = code->features()->str();
    int architecture = features.rfind("sm_", 0) == 0 ? std::atoi(features.c_str() + 3) : 0;
    others += (others.empty() ? "" : ", ") + features;
    if (architecture > bestArchitecture && architecture <= own)
      best = code, bestArchitecture = architecture;
  }
  if (best)
    return best;
  std::string has = others.empty() ? "the program has no kernels for GPUs" : "the program's kernels for GPUs are for " + others;
  std::string is = device->label() + " is sm_" + std::to_string(own);
  return Status::badInput(has + ", and " + is + ": compile it with " + nameOf(Option::Targets, targetFor(own)));
}

Status CudaBackend::loadKernels(const program::Program &program) {
  if (!program.kernels() || program.kernels()->size() == 0)
    return {};
  Result<const program::DeviceCode *> code = chooseCode(program);
  if (!code.ok())
    return code.status();
  std::string text((*code)->object()->begin(), (*code)->object()->end());
  Result<std::vector<GpuKernel>> lines = readKernelLines(text);
  if (!lines.ok())
    return lines.status();
  std::vector<std::string> names;
  for (const program::Kernel *kernel : *program.kernels()) {
    std::string name = kernel->symbol()->str();
    auto found = std::find_if(lines->begin(), lines->end(), [&](const GpuKernel &line) { return line.name == name; });
    if (found == lines->end())
      return Status::badInput("the program's kernels for GPUs lack '" + name + "'");
    kernels.push_back(*found);
    names.push_back(name);
  }
  Result<std::vector<Handle>> entries = device->load(text, "the program's kernels for " + (*code)->features()->str(), names);
  if (!entries.ok())
    return entries.status();
  functions = std::move(*entries);
  return {};
}

Status CudaBackend::prepareLanes(const std::vector<size_t> &devices) {
  auto count = static_cast<uint32_t>(devices.size());
  for (uint32_t i = 0; i < count; ++i) {
    ThreadWork &lane = *lanes.emplace_back(std::make_unique<ThreadWork>(*device, completions, laneBytes));
    lane.reserve();
    enterLane(i);
    Status status = waitUntilDone(*this); // with what was noted
    enterLane(noLane);
    if (!status.ok())
      return status;
  }
  return attentions.prepare(count);
}

std::string CudaBackend::takenBeside() const {
  std::string text;
  auto say = [&](uint64_t bytes, const char *what) {
    if (bytes > 0)
      text += (text.empty() ? "; " : ", ") + std::to_string(bytes) + " are taken by " + what;
  };
  say(givenBytes.load(), "the ranks and their messages");
  say(laneBytes.contexts * lanes.size(), "contexts of kernels");
  say(laneBytes.room * lanes.size(),
      "what ranks compute in (scores of attention; workspaces of --cuda-products and --cuda-attention library)");
  return text;
}

Status CudaBackend::fits(size_t, uint64_t bytes) const {
  device->enter();
  uint64_t free = device->freeBytes();
  if (bytes <= free)
    return {};
  return Status::badInput(device->label() + " has too little memory for the first step: " + std::to_string(bytes) +
                          " bytes are needed, and " + std::to_string(free) + " are free" + takenBeside());
}

Result<DeviceAddress> CudaBackend::allocate(uint64_t bytes) {
  Result<DevicePointer> memory = device->allocate(std::max<uint64_t>(bytes, 1), "memory");
  if (!memory.ok())
    return Status(memory.status().code(), memory.status().message() + takenBeside());
  DeviceAddress address(reinterpret_cast<void *>(*memory));
  zero(address, bytes);
  if (Status status = waitUntilDone(*this); !status.ok()) {
    device->release(*memory);
    return status;
  }
  givenBytes += bytes;
  return address;
}

/// Nobody says that work on this memory is done, and the driver need not wait for it.
void CudaBackend::release(DeviceAddress memory, uint64_t bytes) {
  givenBytes -= bytes;
  device->enter();
  device->cuda().call().contextSynchronize();
  device->release(pointer(memory));
}

void CudaBackend::copyIn(DeviceAddress target, const void *source, uint64_t bytes) { threadWork().copyIn(pointer(target), source, bytes); }

void CudaBackend::copyOut(void *target, DeviceAddress source, uint64_t bytes) { threadWork().copyOut(target, pointer(source), bytes); }

void CudaBackend::zero(DeviceAddress target, uint64_t bytes) {
  ThreadWork &work = threadWork();
  if (Handle stream = work.begin(); stream && bytes > 0)
    work.note(device->cuda().call().setBytesAsync(pointer(target), 0, bytes, stream), "zeroing");
}

void CudaBackend::copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) {
  ThreadWork &work = threadWork();
  if (Handle stream = work.begin(); stream && bytes > 0 && target != source)
    work.note(device->cuda().call().copyAsync(pointer(target), pointer(source), bytes, stream), "a copy");
}

void CudaBackend::reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *sources, size_t sourceCount,
                         const DeviceAddress *targets, size_t targetCount, uint64_t count) {
  ThreadWork &work = threadWork();
  Handle stream = work.begin();
  if (!stream || count == 0)
    return;
  if (sourceCount + targetCount > mostReduced)
    return work.note(Status::badInput("a reduction from " + std::to_string(sourceCount) + " to " + std::to_string(targetCount) +
                                      " places: on a GPU they may be " + std::to_string(mostReduced) + " together"));
  std::array<DeviceAddress, mostReduced> list;
  std::copy_n(targets, targetCount, std::copy_n(sources, sourceCount, list.begin()));
  uint64_t numbers[] = {sourceCount, targetCount, count};
  void *parameters[] = {list.data(), numbers, numbers + 1, numbers + 2};
  auto blocks = static_cast<unsigned>((count + reduceThreads - 1) / reduceThreads);
  Code code = device->cuda().call().launchKernel(reductions.at(reduceName(type, op)), blocks, 1, 1, reduceThreads, 1, 1, 0, stream,
                                                 parameters, nullptr);
  work.note(code, "a reduction");
}

Status CudaBackend::runKernel(uint32_t index, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context, uint64_t) {
  ThreadWork &work = threadWork();
  const GpuKernel &kernel = kernels[index];
  if (bufferCount != kernel.buffers.size())
    return Status(engine::Code::Internal, "kernel '" + kernel.name + "' has " + std::to_string(kernel.buffers.size()) + " buffers, not " +
                                              std::to_string(bufferCount));
  if (kernel.many)
    return runKernels(index, buffers, bufferCount, 1, context, 0);
  DevicePointer numbers = work.context(context, contextCount);
  Handle stream = work.begin();
  if (!stream || !numbers)
    return {}; // `whenDone` says why
  void *parameters[] = {const_cast<DeviceAddress *>(buffers), &numbers};
  auto blocks = static_cast<unsigned>(std::min<int64_t>((kernel.extent + kernel.rows - 1) / kernel.rows, INT32_MAX));
  work.note(device->cuda().call().launchKernel(functions[index], blocks, 1, 1, kernel.threads, 1, 1, 0, stream, parameters, nullptr),
            "kernel '" + kernel.name + "'");
  return {};
}

/// Uses one launch if the kernel has an entry for that, which reads its pointers from device memory.
Status CudaBackend::runKernels(uint32_t index, const DeviceAddress *buffers, size_t bufferCount, size_t count, const int64_t *context,
                               uint64_t bytes) {
  static_assert(sizeof(DeviceAddress) == sizeof(int64_t), "pointers are sent like the numbers of contexts");
  const GpuKernel &kernel = kernels[index];
  if (!kernel.many)
    return Backend::runKernels(index, buffers, bufferCount, count, context, bytes);
  ThreadWork &work = threadWork();
  DevicePointer table = work.context(reinterpret_cast<const int64_t *>(buffers), bufferCount * count);
  DevicePointer numbers = work.context(context, contextCount);
  Handle stream = work.begin();
  if (!stream || !table || !numbers)
    return {}; // `whenDone` says why
  uint64_t distance = bufferCount * sizeof(DeviceAddress);
  void *parameters[] = {&table, &distance, &numbers};
  auto blocks = static_cast<unsigned>(std::min<int64_t>((kernel.extent + kernel.rows - 1) / kernel.rows, INT32_MAX));
  work.note(device->cuda().call().launchKernel(functions[index], blocks, static_cast<unsigned>(count), 1, kernel.threads, 1, 1, 0, stream,
                                               parameters, nullptr),
            "kernel '" + kernel.name + "'");
  return {};
}

Status CudaBackend::runMatmul(uint32_t matmul, DeviceAddress a, DeviceAddress b, DeviceAddress c) {
  products.start(matmul, {pointer(a), pointer(b), pointer(c)}, threadWork());
  return {};
}

Status CudaBackend::runGrouped(uint32_t matmul, const DeviceAddress *buffers) {
  auto at = [&](size_t place) { return pointer(buffers[place]); };
  products.start(matmul, {at(0), at(1), at(4), at(2), at(3)}, threadWork());
  return {};
}

Status CudaBackend::runAttention(uint32_t attention, const DeviceAddress *buffers, size_t, const int64_t *context) {
  attentions.start(attention, buffers, context, contextCount, threadWork());
  return {};
}

void CudaBackend::whenDone(Completion &completion) { threadWork().whenDone(completion); }

} // namespace npar::engine::cuda
