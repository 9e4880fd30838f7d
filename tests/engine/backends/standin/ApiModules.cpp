// The driver's calls about modules, kernels and launches.
#include "tests/engine/backends/standin/Call.h"

#include "tests/engine/backends/standin/ptx/Interpreter.h"

#include <cstdio>
#include <cstring>

using namespace npar::standin;

namespace {
constexpr unsigned mostThreads = 1024;
constexpr int mostShared = 227 << 10;

template <typename Body> Code withFunction(Handle handle, Body body) {
  return withContext([&](Call &call) {
    std::shared_ptr<Function> function = call.driver.functions.find(handle);
    if (!function)
      return refuse(Code::InvalidHandle, "no such function, or its module is gone");
    return body(call, *function);
  });
}

Code load(Handle *result, const void *image, std::string &error) {
  return withContextUncaptured([&](Call &call) {
    if (!image)
      return Code::InvalidValue;
    std::shared_ptr<Module> module = loadModule(static_cast<const char *>(image), call.driver.memory, call.device,
                                                call.driver.settings.architectureOf(call.device.number), error);
    if (!module)
      return Code::InvalidPtx;
    *result = call.driver.modules.add(std::move(module));
    return Code::Success;
  });
}

/// The bytes of all parameters, read from the pointers to them.
std::vector<uint8_t> parametersOf(const ptx::Kernel &kernel, void **parameters) {
  std::vector<uint8_t> bytes(kernel.parameterBytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(bytes.data() + kernel.parameters[i].first, parameters[i], kernel.parameters[i].second);
  return bytes;
}
} // namespace

NPAR_STANDIN_CALL Code cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options, void **values) {
  std::string error;
  Code code = load(module, image, error);
  if (error.empty())
    return code;
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == static_cast<int>(JitOption::ErrorLogBuffer))
      buffer = static_cast<char *>(values[i]);
    if (options[i] == static_cast<int>(JitOption::ErrorLogBufferBytes))
      size = static_cast<size_t>(reinterpret_cast<uintptr_t>(values[i]) & 0xFFFFFFFF);
  }
  if (buffer && size > 0)
    std::snprintf(buffer, size, "%s", error.c_str());
  else
    std::fprintf(stderr, "stand-in for CUDA: %s: %s\n", nameOf(code), error.c_str());
  return code;
}

NPAR_STANDIN_CALL Code cuModuleLoadData(Handle *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

NPAR_STANDIN_CALL Code cuModuleUnload(Handle handle) {
  return withContextUncaptured([&](Call &call) {
    std::shared_ptr<Module> module = call.driver.modules.find(handle);
    if (!module)
      return refuse(Code::InvalidHandle, "no such module, or no longer");
    for (uint64_t address : module->globals)
      call.driver.memory.release(address);
    call.driver.functions.removeIf([&](const Function &function) { return function.module == module; });
    call.driver.modules.remove(handle);
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuModuleGetFunction(Handle *result, Handle handle, const char *name) {
  return withContext([&](Call &call) {
    std::shared_ptr<Module> module = call.driver.modules.find(handle);
    if (!module)
      return refuse(Code::InvalidHandle, "no such module, or no longer");
    auto found = module->kernels.find(name);
    if (found == module->kernels.end())
      return Code::NotFound;
    auto function = std::make_shared<Function>();
    function->module = module;
    function->kernel = &found->second;
    *result = call.driver.functions.add(std::move(function));
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuFuncGetAttribute(int *value, FunctionAttribute attribute, Handle handle) {
  return withFunction(handle, [&](Call &call, Function &function) {
    const ptx::Kernel &kernel = *function.kernel;
    switch (attribute) {
    case FunctionAttribute::MaxThreadsPerBlock:
      *value = static_cast<int>(kernel.threads[0] ? kernel.threads[0] * kernel.threads[1] * kernel.threads[2] : mostThreads);
      return Code::Success;
    case FunctionAttribute::SharedBytes:
      *value = static_cast<int>(kernel.sharedBytes);
      return Code::Success;
    case FunctionAttribute::ConstantBytes:
    case FunctionAttribute::CacheModeCa:
      *value = 0;
      return Code::Success;
    case FunctionAttribute::LocalBytes:
      *value = static_cast<int>(kernel.localBytes);
      return Code::Success;
    case FunctionAttribute::Registers:
      *value = static_cast<int>(std::min(kernel.registers, 255u));
      return Code::Success;
    case FunctionAttribute::PtxVersion:
      *value = kernel.version;
      return Code::Success;
    case FunctionAttribute::BinaryVersion:
      *value = call.driver.settings.architectureOf(call.device.number);
      return Code::Success;
    case FunctionAttribute::MaxDynamicSharedBytes:
      *value = static_cast<int>(function.dynamicShared);
      return Code::Success;
    case FunctionAttribute::PreferredSharedCarveout:
      *value = -1;
      return Code::Success;
    }
    return Code::InvalidValue;
  });
}

NPAR_STANDIN_CALL Code cuFuncSetAttribute(Handle handle, FunctionAttribute attribute, int value) {
  return withFunction(handle, [&](Call &, Function &function) {
    if (attribute == FunctionAttribute::PreferredSharedCarveout)
      return Code::Success;
    if (attribute != FunctionAttribute::MaxDynamicSharedBytes || value < 0 ||
        value + static_cast<int>(function.kernel->sharedBytes) > mostShared)
      return Code::InvalidValue;
    function.dynamicShared = static_cast<uint64_t>(value);
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuLaunchKernel(Handle handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                                      unsigned blockZ, unsigned sharedBytes, Handle streamHandle, void **parameters, void **extra) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(streamHandle, [&](Call &call, Stream &stream) {
    std::shared_ptr<Function> function = call.driver.functions.find(handle);
    if (!function)
      return refuse(Code::InvalidHandle, "no such function, or its module is gone");
    if (function->module->device != &call.device)
      return refuse(Code::InvalidHandle, "the function belongs to another context");
    const ptx::Kernel &kernel = *function->kernel;
    if (extra || (!parameters && !kernel.parameters.empty()))
      return refuse(Code::InvalidValue, "a launch takes pointers to its parameters, and nothing else");
    auto launch = std::make_shared<ptx::Launch>();
    launch->kernel = &kernel;
    const unsigned grid[3] = {gridX, gridY, gridZ}, block[3] = {blockX, blockY, blockZ};
    for (int i = 0; i < 3; ++i) {
      launch->grid[i] = grid[i];
      launch->block[i] = block[i];
      if (grid[i] == 0 || block[i] == 0 || block[i] > (i == 2 ? 64 : mostThreads) || grid[i] > (i == 0 ? 0x7FFFFFFFu : 65535u))
        return refuse(Code::InvalidValue, "a launch of no or too many blocks or threads");
      if (kernel.threads[0] != 0 && kernel.threads[i] != block[i])
        return refuse(Code::InvalidValue, "a launch with another number of threads than the kernel requires");
    }
    if (uint64_t{blockX} * blockY * blockZ > mostThreads)
      return refuse(Code::InvalidValue, "a launch of too many threads");
    if (sharedBytes > function->dynamicShared || sharedBytes + kernel.sharedBytes > mostShared)
      return refuse(Code::InvalidValue, "a launch with more shared memory than the function was allowed");
    launch->dynamicSharedBytes = sharedBytes;
    launch->parameters = parametersOf(kernel, parameters);
    launch->seed = call.driver.queue.draw(~uint64_t{0});
    call.driver.enqueue(stream, [launch, module = function->module, &driver = call.driver, device = call.device.number] {
      auto begin = std::chrono::steady_clock::now();
      uint64_t count = 0;
      Outcome outcome = ptx::run(*launch, driver.memory, device, &count);
      driver.laneInstructions += count;
      driver.kernelNanoseconds += static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
      return outcome;
    });
    return Code::Success;
  });
}
