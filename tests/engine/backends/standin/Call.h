// The checks at the beginning of every call of the driver: it is initialized, and a context is current that has not failed.
#pragma once

#include "tests/engine/backends/standin/CudaCalls.h"
#include "tests/engine/backends/standin/Driver.h"

#define NPAR_STANDIN_CALL extern "C" __attribute__((visibility("default")))

namespace npar::standin {

/// A call that has begun: the driver is locked.
struct Call {
  Driver &driver;
  std::unique_lock<std::mutex> lock;
  Device &device; ///< of the thread's current context

  /// Waits for work; returns how its device is then.
  Code wait(const WorkPointer &work) {
    driver.queue.wait(lock, work);
    return device.failed;
  }
};

/// The first line of a call that a test may leave out of the caller's code (Sites.h): it does nothing then and says that all went well.
#define NPAR_STANDIN_MAY_BE_LEFT_OUT                                                                                                       \
  if (::npar::standin::Driver::instance().sites.leavesOut(__func__, __builtin_return_address(0)))                                          \
    return ::npar::standin::Code::Success;

/// The thread's current context, or null.
Handle &currentContext();

/// Prints why a call is refused, once per reason, and returns the code.
Code refuse(Code code, const char *why);

/// Calls `body(driver)` locked, if the driver was initialized.
template <typename Body> Code withDriver(Body body) {
  Driver &driver = Driver::instance();
  std::unique_lock<std::mutex> lock(driver.queue.mutex);
  return driver.initialized ? body(driver) : Code::NotInitialized;
}

/// Calls `body(call)` if there is a current context and it works.
template <typename Body> Code withContext(Body body) {
  Driver &driver = Driver::instance();
  std::unique_lock<std::mutex> lock(driver.queue.mutex);
  if (!driver.initialized)
    return Code::NotInitialized;
  std::shared_ptr<Device> device = driver.contexts.find(currentContext());
  if (!device)
    return refuse(Code::InvalidContext, "the thread has no current context");
  if (device->failed != Code::Success)
    return device->failed;
  Call call{driver, std::move(lock), *device};
  return body(call);
}

/// Calls `body(call)` unless a capture forbids what may wait or change memory.
template <typename Body> Code withContextUncaptured(Body body) {
  return withContext([&](Call &call) {
    if (call.driver.forbiddenByCapture())
      return refuse(Code::StreamCaptureUnsupported, "a stream is being captured: this call is not allowed, and the capture is invalid now");
    return body(call);
  });
}

/// Calls `body(call, stream)` if the handle is that of a stream of this context.
template <typename Body> Code withStream(Handle handle, Body body) {
  return withContext([&](Call &call) {
    auto number = reinterpret_cast<uintptr_t>(handle);
    if (number == 0 || number == legacyStream || number == perThreadStream)
      return refuse(Code::NotSupported, "the default stream is refused: it orders work that nothing else would");
    std::shared_ptr<Stream> stream = call.driver.streams.find(handle);
    if (!stream)
      return refuse(Code::InvalidHandle, "no such stream, or no longer");
    if (stream->device != &call.device)
      return refuse(Code::InvalidContext, "the stream belongs to another context than the thread's");
    if (stream->capture && stream->capture->invalid)
      return Code::StreamCaptureInvalidated;
    return body(call, *stream);
  });
}

} // namespace npar::standin
