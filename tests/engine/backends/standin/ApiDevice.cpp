// The driver's calls about devices, contexts and result codes.
#include "tests/engine/backends/standin/Call.h"

#include <cstdio>
#include <cstring>

using namespace npar::standin;

namespace npar::standin {

Handle &currentContext() {
  static thread_local Handle current = nullptr;
  return current;
}

Code refuse(Code code, const char *why) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard<std::mutex> lock(mutex);
  if (told.insert(why).second)
    std::fprintf(stderr, "stand-in for CUDA: %s: %s\n", nameOf(code), why);
  return code;
}

} // namespace npar::standin

namespace {
template <typename Body> Code withDevice(DeviceNumber number, Body body) {
  return withDriver([&](Driver &driver) {
    if (number < 0 || static_cast<size_t>(number) >= driver.devices.size())
      return Code::InvalidDevice;
    return body(driver, *driver.devices[static_cast<size_t>(number)]);
  });
}

/// -1: no such attribute.
int valueOf(DeviceAttribute attribute, const Driver &driver, const Device &device) {
  switch (attribute) {
  case DeviceAttribute::MaxThreadsPerBlock:
  case DeviceAttribute::MaxBlockDimX:
  case DeviceAttribute::MaxBlockDimY:
    return 1024;
  case DeviceAttribute::MaxBlockDimZ:
    return 64;
  case DeviceAttribute::MaxGridDimX:
    return 0x7FFFFFFF;
  case DeviceAttribute::MaxGridDimY:
  case DeviceAttribute::MaxGridDimZ:
  case DeviceAttribute::TotalConstantMemory:
  case DeviceAttribute::MaxRegistersPerBlock:
  case DeviceAttribute::MaxRegistersPerMultiprocessor:
    return 65535;
  case DeviceAttribute::MaxSharedPerBlock:
    return 48 << 10;
  case DeviceAttribute::MaxSharedPerBlockOptin:
    return 227 << 10;
  case DeviceAttribute::MaxSharedPerMultiprocessor:
    return 228 << 10;
  case DeviceAttribute::WarpSize:
    return 32;
  case DeviceAttribute::ClockRate:
  case DeviceAttribute::MemoryClockRate:
    return 1000000;
  case DeviceAttribute::GlobalMemoryBusWidth:
    return 5120;
  case DeviceAttribute::MultiprocessorCount:
    return 4;
  case DeviceAttribute::L2CacheSize:
    return 1 << 20;
  case DeviceAttribute::MaxThreadsPerMultiprocessor:
    return 2048;
  case DeviceAttribute::AsyncEngineCount:
    return 2;
  case DeviceAttribute::CanMapHostMemory:
  case DeviceAttribute::ConcurrentKernels:
  case DeviceAttribute::UnifiedAddressing:
  case DeviceAttribute::CanUseHostPointer:
    return 1;
  case DeviceAttribute::Integrated:
  case DeviceAttribute::ComputeMode:
  case DeviceAttribute::EccEnabled:
  case DeviceAttribute::PciDeviceId:
  case DeviceAttribute::PciDomainId:
  case DeviceAttribute::StreamPrioritiesSupported:
  case DeviceAttribute::ManagedMemory:
  case DeviceAttribute::PageableMemoryAccess:
  case DeviceAttribute::CooperativeLaunch:
  case DeviceAttribute::MemoryPoolsSupported:
    return 0;
  case DeviceAttribute::PciBusId:
    return device.number + 1;
  case DeviceAttribute::ComputeCapabilityMajor:
    return driver.settings.architectureOf(device.number) / 10;
  case DeviceAttribute::ComputeCapabilityMinor:
    return driver.settings.architectureOf(device.number) % 10;
  }
  return -1;
}

Code uuidOf(Uuid *uuid, DeviceNumber number) {
  return withDevice(number, [&](Driver &, Device &device) {
    if (!uuid)
      return Code::InvalidValue;
    std::memset(uuid->bytes, 0x5A, sizeof uuid->bytes);
    uuid->bytes[15] = static_cast<char>(device.number);
    return Code::Success;
  });
}
} // namespace

NPAR_STANDIN_CALL Code cuGetErrorName(Code code, const char **text) {
  *text = nameOf(code);
  return *text ? Code::Success : Code::InvalidValue;
}

NPAR_STANDIN_CALL Code cuGetErrorString(Code code, const char **text) {
  *text = explanationOf(code);
  return *text ? Code::Success : Code::InvalidValue;
}

NPAR_STANDIN_CALL Code cuInit(unsigned flags) {
  if (flags != 0)
    return Code::InvalidValue;
  Driver &driver = Driver::instance();
  std::lock_guard<std::mutex> lock(driver.queue.mutex);
  driver.initialized = !driver.devices.empty();
  return driver.initialized ? Code::Success : Code::NoDevice;
}

NPAR_STANDIN_CALL Code cuDriverGetVersion(int *version) {
  if (!version)
    return Code::InvalidValue;
  *version = Driver::instance().settings.driverVersion;
  return Code::Success;
}

NPAR_STANDIN_CALL Code cuDeviceGetCount(int *count) {
  return withDriver([&](Driver &driver) {
    *count = static_cast<int>(driver.devices.size());
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDeviceGet(DeviceNumber *number, int ordinal) {
  return withDevice(ordinal, [&](Driver &, Device &) {
    *number = ordinal;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDeviceGetName(char *name, int size, DeviceNumber number) {
  return withDevice(number, [&](Driver &driver, Device &device) {
    std::snprintf(name, static_cast<size_t>(size), "npar stand-in sm_%d", driver.settings.architectureOf(device.number));
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDeviceGetAttribute(int *value, DeviceAttribute attribute, DeviceNumber number) {
  return withDevice(number, [&](Driver &driver, Device &device) {
    int found = valueOf(attribute, driver, device);
    if (found < 0)
      return Code::InvalidValue;
    *value = found;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDeviceTotalMem_v2(size_t *bytes, DeviceNumber number) {
  return withDevice(number, [&](Driver &driver, Device &) {
    *bytes = driver.memory.total();
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDeviceGetUuid(Uuid *uuid, DeviceNumber number) { return uuidOf(uuid, number); }
NPAR_STANDIN_CALL Code cuDeviceGetUuid_v2(Uuid *uuid, DeviceNumber number) { return uuidOf(uuid, number); }

NPAR_STANDIN_CALL Code cuDeviceGetPCIBusId(char *text, int size, DeviceNumber number) {
  return withDevice(number, [&](Driver &, Device &device) {
    std::snprintf(text, static_cast<size_t>(size), "0000:%02X:00.0", device.number + 1);
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDeviceCanAccessPeer(int *can, DeviceNumber number, DeviceNumber other) {
  return withDevice(number, [&](Driver &driver, Device &) {
    if (other < 0 || static_cast<size_t>(other) >= driver.devices.size())
      return Code::InvalidDevice;
    *can = driver.settings.peers && other != number ? 1 : 0;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuCtxEnablePeerAccess(Handle peer, unsigned flags) {
  return withContextUncaptured([&](Call &call) {
    std::shared_ptr<Device> other = call.driver.contexts.find(peer);
    if (!other || other.get() == &call.device)
      return refuse(Code::InvalidContext, "access to the memory of a context that is none, or the thread's own");
    if (flags != 0)
      return Code::InvalidValue;
    if (!call.driver.settings.peers)
      return Code::PeerAccessUnsupported;
    return call.driver.memory.reach(call.device.number, other->number) ? Code::Success : Code::PeerAccessAlreadyEnabled;
  });
}

NPAR_STANDIN_CALL Code cuDevicePrimaryCtxRetain(Handle *context, DeviceNumber number) {
  return withDevice(number, [&](Driver &driver, Device &device) {
    if (device.failed != Code::Success)
      return device.failed;
    if (device.users++ == 0)
      device.context = driver.contexts.add(driver.devices[static_cast<size_t>(number)]);
    *context = device.context;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDevicePrimaryCtxRelease_v2(DeviceNumber number) {
  return withDriver([&](Driver &driver) {
    if (number < 0 || static_cast<size_t>(number) >= driver.devices.size())
      return Code::InvalidDevice;
    Device &device = *driver.devices[static_cast<size_t>(number)];
    if (device.users == 0)
      return Code::InvalidContext;
    if (--device.users == 0)
      driver.destroyContext(device);
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuDevicePrimaryCtxRelease(DeviceNumber number) { return cuDevicePrimaryCtxRelease_v2(number); }

NPAR_STANDIN_CALL Code cuCtxSetCurrent(Handle context) {
  return withDriver([&](Driver &driver) {
    if (context && !driver.contexts.find(context))
      return Code::InvalidContext;
    currentContext() = context;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuCtxGetCurrent(Handle *context) {
  return withDriver([&](Driver &) {
    *context = currentContext();
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuCtxGetDevice(DeviceNumber *number) {
  return withContext([&](Call &call) {
    *number = call.device.number;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return withContext([&](Call &) {
    *least = *greatest = 0;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuCtxSynchronize() {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withContext([](Call &call) {
    if (call.driver.waitForbiddenByCapture(call.device))
      return refuse(Code::StreamCaptureUnsupported,
                    "a stream of the device is being captured: waiting for all its work is an error and invalidates the capture");
    return call.wait(call.driver.everythingOf(call.device));
  });
}
