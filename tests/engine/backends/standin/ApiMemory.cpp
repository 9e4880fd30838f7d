// The driver's calls about memory and copies.
#include "tests/engine/backends/standin/Call.h"
#include "tests/engine/backends/standin/Copy.h"

using namespace npar::standin;

namespace {
Code refuseDefaultStream() {
  return refuse(Code::NotSupported, "copies in the default stream are refused: name a stream (cuMemcpy...Async)");
}

Code setMemory(DevicePointer target, uint32_t element, unsigned elementBytes, size_t count, Handle handle) {
  return withStream(handle, [&](Call &call, Stream &stream) {
    if (target % elementBytes != 0)
      return refuse(Code::InvalidValue, "memory that is set must be aligned to its element");
    if (count > 0)
      call.driver.enqueue(stream, setOperation(call.driver.memory, call.device.number, target, element, elementBytes, count));
    return Code::Success;
  });
}

Code pinnedMemory(void **result, size_t bytes) {
  return withContextUncaptured([&](Call &call) {
    *result = call.driver.memory.allocatePinned(bytes);
    return *result ? Code::Success : bytes == 0 ? Code::InvalidValue : Code::OutOfMemory;
  });
}
} // namespace

NPAR_STANDIN_CALL Code cuMemGetInfo_v2(size_t *free, size_t *total) {
  return withContext([&](Call &call) {
    *free = call.driver.memory.free(call.device.number);
    *total = call.driver.memory.total();
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuMemAlloc_v2(DevicePointer *result, size_t bytes) {
  return withContextUncaptured([&](Call &call) {
    if (bytes == 0)
      return Code::InvalidValue;
    uint64_t limit = call.driver.settings.faults.memoryAfter;
    ++call.driver.allocations;
    uint64_t address = limit && call.driver.allocations >= limit ? 0 : call.driver.memory.allocate(call.device.number, bytes);
    if (!address)
      return Code::OutOfMemory;
    *result = address;
    return Code::Success;
  });
}

// It waits for nothing, though the real one may: work that is still to come then finds no memory.
NPAR_STANDIN_CALL Code cuMemFree_v2(DevicePointer address) {
  return withContextUncaptured([&](Call &call) {
    if (address == 0 || call.driver.memory.release(address))
      return Code::Success;
    return refuse(Code::InvalidValue, "memory is freed that does not begin there, or twice");
  });
}

NPAR_STANDIN_CALL Code cuMemHostAlloc(void **result, size_t bytes, unsigned) { return pinnedMemory(result, bytes); }
NPAR_STANDIN_CALL Code cuMemAllocHost_v2(void **result, size_t bytes) { return pinnedMemory(result, bytes); }

NPAR_STANDIN_CALL Code cuMemFreeHost(void *begin) {
  return withContextUncaptured([&](Call &call) {
    if (call.driver.memory.releasePinned(begin))
      return Code::Success;
    return refuse(Code::InvalidValue, "pinned memory is freed that does not begin there, or twice");
  });
}

NPAR_STANDIN_CALL Code cuMemHostRegister_v2(void *begin, size_t bytes, unsigned) {
  return withContextUncaptured([&](Call &call) {
    if (!begin || bytes == 0)
      return Code::InvalidValue;
    return call.driver.memory.registerHost(begin, bytes) ? Code::Success : Code::HostMemoryAlreadyRegistered;
  });
}

NPAR_STANDIN_CALL Code cuMemHostUnregister(void *begin) {
  return withContextUncaptured(
      [&](Call &call) { return call.driver.memory.unregisterHost(begin) ? Code::Success : Code::HostMemoryNotRegistered; });
}

NPAR_STANDIN_CALL Code cuMemHostGetDevicePointer_v2(DevicePointer *result, void *begin, unsigned flags) {
  return withContext([&](Call &call) {
    if (flags != 0 || !call.driver.memory.isPinned(begin, 1))
      return Code::InvalidValue;
    *result = reinterpret_cast<DevicePointer>(begin);
    return Code::Success;
  });
}

// Bytes of page-locked memory are read when the copy runs, those of pageable memory now.
NPAR_STANDIN_CALL Code cuMemcpyHtoDAsync_v2(DevicePointer target, const void *source, size_t bytes, Handle handle) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(handle, [&](Call &call, Stream &stream) {
    Memory &memory = call.driver.memory;
    if (bytes == 0)
      return Code::Success;
    if (!source || memory.isDevice(reinterpret_cast<uint64_t>(source)))
      return refuse(Code::InvalidValue, "a copy from the host whose source is not the host's");
    if (memory.isPinned(source, bytes))
      call.driver.enqueue(stream, copyOperation(memory, call.device.number, target, reinterpret_cast<uint64_t>(source), bytes));
    else if (stream.capture)
      return refuse(Code::StreamCaptureUnsupported, "a captured copy must be from page-locked memory");
    else
      call.driver.enqueue(stream, stagedCopy(memory, call.device.number, target, source, bytes));
    return Code::Success;
  });
}

// If the target is pageable memory, the call returns after the copy.
NPAR_STANDIN_CALL Code cuMemcpyDtoHAsync_v2(void *target, DevicePointer source, size_t bytes, Handle handle) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(handle, [&](Call &call, Stream &stream) {
    Memory &memory = call.driver.memory;
    if (bytes == 0)
      return Code::Success;
    if (!target || memory.isDevice(reinterpret_cast<uint64_t>(target)))
      return refuse(Code::InvalidValue, "a copy to the host whose target is not the host's");
    if (memory.isPinned(target, bytes)) {
      call.driver.enqueue(stream, copyOperation(memory, call.device.number, reinterpret_cast<uint64_t>(target), source, bytes));
      return Code::Success;
    }
    if (stream.capture)
      return refuse(Code::StreamCaptureUnsupported, "a captured copy must be to page-locked memory");
    call.driver.enqueue(stream, copyToPageable(memory, call.device.number, target, source, bytes));
    return call.wait(stream.last);
  });
}

NPAR_STANDIN_CALL Code cuMemcpyDtoDAsync_v2(DevicePointer target, DevicePointer source, size_t bytes, Handle handle) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(handle, [&](Call &call, Stream &stream) {
    if (source < target + bytes && target < source + bytes)
      return refuse(Code::InvalidValue, "a copy whose source and target overlap");
    if (bytes > 0)
      call.driver.enqueue(stream, copyOperation(call.driver.memory, call.device.number, target, source, bytes));
    return Code::Success;
  });
}

// Each end must be the named context's own memory, whatever else that can reach.
NPAR_STANDIN_CALL Code cuMemcpyPeerAsync(DevicePointer target, Handle targetContext, DevicePointer source, Handle sourceContext,
                                         size_t bytes, Handle handle) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(handle, [&](Call &call, Stream &stream) {
    std::shared_ptr<Device> to = call.driver.contexts.find(targetContext), from = call.driver.contexts.find(sourceContext);
    if (!to || !from)
      return refuse(Code::InvalidContext, "a copy between devices names a context that is none");
    if (stream.device != to.get() && stream.device != from.get())
      return refuse(Code::InvalidContext, "a copy between devices is in a third one's stream");
    if (source < target + bytes && target < source + bytes)
      return refuse(Code::InvalidValue, "a copy whose source and target overlap");
    if (bytes > 0)
      call.driver.enqueue(stream, copyBetween(call.driver.memory, to->number, target, from->number, source, bytes));
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuMemsetD8Async(DevicePointer target, unsigned char element, size_t count, Handle stream) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return setMemory(target, element, 1, count, stream);
}
NPAR_STANDIN_CALL Code cuMemsetD16Async(DevicePointer target, unsigned short element, size_t count, Handle stream) {
  return setMemory(target, element, 2, count, stream);
}
NPAR_STANDIN_CALL Code cuMemsetD32Async(DevicePointer target, unsigned element, size_t count, Handle stream) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return setMemory(target, element, 4, count, stream);
}

NPAR_STANDIN_CALL Code cuMemcpyHtoD_v2(DevicePointer, const void *, size_t) { return refuseDefaultStream(); }
NPAR_STANDIN_CALL Code cuMemcpyDtoH_v2(void *, DevicePointer, size_t) { return refuseDefaultStream(); }
NPAR_STANDIN_CALL Code cuMemcpyDtoD_v2(DevicePointer, DevicePointer, size_t) { return refuseDefaultStream(); }
