// Opens libcuda.so.1, or what NPAR_CUDA_DRIVER names in its place, and calls it. Types and numbers are those of the driver's stable
// interface (cuda.h).
#include "tests/engine/backends/gpu/CudaDriver.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace npar::engine {

struct CudaDriver::Functions {
  using Code = int;
  Code (*init)(unsigned);
  Code (*errorName)(Code, const char **);
  Code (*deviceGet)(int *, int);
  Code (*deviceName)(char *, int, int);
  Code (*retainContext)(Handle *, int);
  Code (*setContext)(Handle);
  Code (*loadModule)(Handle *, const void *);
  Code (*getFunction)(Handle *, Handle, const char *);
  Code (*getAttribute)(int *, int, Handle);
  Code (*allocate)(Address *, size_t);
  Code (*release)(Address);
  Code (*createStream)(Handle *, unsigned);
  Code (*synchronize)(Handle);
  Code (*copyIn)(Address, const void *, size_t, Handle);
  Code (*copyOut)(void *, Address, size_t, Handle);
  Code (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
  Code (*createEvent)(Handle *, unsigned);
  Code (*recordEvent)(Handle, Handle);
  Code (*elapsed)(float *, Handle, Handle);
  Code (*destroyEvent)(Handle);

  std::string words(Code code) const {
    const char *text = nullptr;
    return errorName(code, &text) == 0 && text ? text : "error " + std::to_string(code);
  }
  void expect(Code code, const std::string &what) const {
    if (code == 0)
      return;
    std::fprintf(stderr, "%s: %s\n", what.c_str(), words(code).c_str());
    std::exit(1);
  }
};

Result<CudaDriver> CudaDriver::open() {
  const char *named = std::getenv("NPAR_CUDA_DRIVER");
  const std::string path = named ? named : "libcuda.so.1";
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status::badInput("no CUDA driver: " + path + " cannot be loaded");
  static Functions found;
  bool all = true;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    all &= function != nullptr;
  };
  find(found.init, "cuInit");
  find(found.errorName, "cuGetErrorName");
  find(found.deviceGet, "cuDeviceGet");
  find(found.deviceName, "cuDeviceGetName");
  find(found.retainContext, "cuDevicePrimaryCtxRetain");
  find(found.setContext, "cuCtxSetCurrent");
  find(found.loadModule, "cuModuleLoadData");
  find(found.getFunction, "cuModuleGetFunction");
  find(found.getAttribute, "cuFuncGetAttribute");
  find(found.allocate, "cuMemAlloc_v2");
  find(found.release, "cuMemFree_v2");
  find(found.createStream, "cuStreamCreate");
  find(found.synchronize, "cuStreamSynchronize");
  find(found.copyIn, "cuMemcpyHtoDAsync_v2");
  find(found.copyOut, "cuMemcpyDtoHAsync_v2");
  find(found.launch, "cuLaunchKernel");
  find(found.createEvent, "cuEventCreate");
  find(found.recordEvent, "cuEventRecord");
  find(found.elapsed, "cuEventElapsedTime");
  find(found.destroyEvent, "cuEventDestroy_v2");
  if (!all)
    return Status::badInput(path + " lacks functions of the CUDA driver");
  CudaDriver driver;
  driver.driver = &found;
  int device = 0;
  Functions::Code code = found.init(0);
  if (code == 0)
    code = found.deviceGet(&device, 0);
  if (code != 0)
    return Status::badInput("no GPU: " + found.words(code));
  char name[256] = {};
  found.expect(found.deviceName(name, sizeof name, device), "the device's name");
  driver.deviceName = name;
  Handle context = nullptr;
  found.expect(found.retainContext(&context, device), "a context");
  found.expect(found.setContext(context), "a context");
  constexpr unsigned nonBlocking = 1;
  found.expect(found.createStream(&driver.stream, nonBlocking), "a stream");
  return driver;
}

CudaDriver::Handle CudaDriver::loadModule(const std::string &code) const {
  Handle module = nullptr;
  driver->expect(driver->loadModule(&module, code.c_str()), "loading the kernels");
  return module;
}

CudaDriver::Handle CudaDriver::function(Handle module, const std::string &name) const {
  Handle function = nullptr;
  driver->expect(driver->getFunction(&function, module, name.c_str()), "finding kernel '" + name + "'");
  return function;
}

int CudaDriver::attribute(Handle function, Attribute which) const {
  int value = 0;
  driver->expect(driver->getAttribute(&value, static_cast<int>(which), function), "an attribute of a kernel");
  return value;
}

CudaDriver::Address CudaDriver::allocate(size_t bytes) const {
  Address memory = 0;
  driver->expect(driver->allocate(&memory, bytes), "allocating " + std::to_string(bytes) + " bytes");
  return memory;
}

void CudaDriver::release(Address memory) const { driver->expect(driver->release(memory), "releasing memory"); }

void CudaDriver::copyIn(Address target, const void *source, size_t bytes) const {
  driver->expect(driver->copyIn(target, source, bytes, stream), "a copy to the device");
  driver->expect(driver->synchronize(stream), "a copy to the device");
}

void CudaDriver::copyOut(void *target, Address source, size_t bytes) const {
  driver->expect(driver->copyOut(target, source, bytes, stream), "a copy from the device");
  driver->expect(driver->synchronize(stream), "a copy from the device");
}

double CudaDriver::run(Handle function, unsigned blocks, unsigned threads, void **arguments, int count) const {
  Handle begin = nullptr, end = nullptr;
  driver->expect(driver->createEvent(&begin, 0), "an event");
  driver->expect(driver->createEvent(&end, 0), "an event");
  driver->expect(driver->recordEvent(begin, stream), "an event");
  for (int i = 0; i < count; ++i)
    driver->expect(driver->launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr), "a launch");
  driver->expect(driver->recordEvent(end, stream), "an event");
  driver->expect(driver->synchronize(stream), "running a kernel");
  float milliseconds = 0;
  driver->expect(driver->elapsed(&milliseconds, begin, end), "the time of a kernel");
  driver->expect(driver->destroyEvent(begin), "an event");
  driver->expect(driver->destroyEvent(end), "an event");
  return milliseconds * 1e-3 / count;
}

} // namespace npar::engine
