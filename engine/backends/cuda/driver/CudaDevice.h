// A GPU as the driver shows it, and one that is in use: its context, modules and memory.
#pragma once

#include "engine/backends/cuda/driver/CudaDriver.h"
#include "engine/device/DeviceAddress.h"

#include <memory>
#include <vector>

namespace npar::engine::cuda {

inline DevicePointer pointer(DeviceAddress address) { return reinterpret_cast<DevicePointer>(address.devicePointer()); }

/// "GPU 0 (NVIDIA H100 80GB HBM3)", and its architecture as a number: 90 for sm_90.
struct DeviceIdentity {
  std::string name;
  int architecture = 0, multiprocessors = 0;
  uint64_t bytes = 0;
  std::string label(int ordinal) const { return "GPU " + std::to_string(ordinal) + " (" + name + ")"; }
};
Result<DeviceIdentity> identify(const CudaDriver &driver, int ordinal);
/// The value of `npar compile --target` for the first GPU of this machine.
Result<std::string> targetOfMachine();

/// Holds the device's primary context, which all that use the device in this process share.
class CudaDevice {
public:
  /// Refuses one that is older than npar's kernels.
  static Result<std::unique_ptr<CudaDevice>> open(const CudaDriver &driver, int ordinal);
  /// Unloads the modules. Nothing may be under way.
  ~CudaDevice();
  CudaDevice(const CudaDevice &) = delete;

  /// Makes this the device that the thread's next calls of the driver mean.
  void enter() const { driver.call().contextSetCurrent(context); }
  const CudaDriver &cuda() const { return driver; }
  const std::string &label() const { return words; }
  const DeviceIdentity &identity() const { return facts; }

  /// A copy between this device and another one, in either's stream; by way of the processor's memory where they do not reach each other.
  Code copyAsync(DevicePointer target, DevicePointer source, const CudaDevice &from, uint64_t bytes, Handle stream) const {
    return driver.call().copyPeerAsync(target, context, source, from.context, bytes, stream);
  }
  /// Lets copies from the other device come straight to this one, where they have a link.
  Status reach(const CudaDevice &other) const;

  /// Identifies the device among all devices of all hosts.
  Result<std::string> uuid() const;

  /// The functions of a module's text by their names, in this order; `what` it is, for the message with the driver's log. The module stays
  /// as long as this lives.
  Result<std::vector<Handle>> load(const std::string &text, const std::string &what, const std::vector<std::string> &functions);

  /// Returns memory that is not zeroed. An error has the size requested and the size that is free.
  Result<DevicePointer> allocate(uint64_t bytes, const std::string &what) const;
  /// Before anything runs; waits until it is done.
  Status write(DevicePointer target, const void *source, uint64_t bytes) const;
  /// Allocates memory for these bytes, stores its address in `to` and writes them; for 0 bytes it does nothing. Release `to` even after an
  /// error.
  Status upload(const void *source, uint64_t bytes, const std::string &what, DevicePointer &to) const;
  void release(DevicePointer memory) const { driver.call().memFree(memory); }
  /// Page-locked memory of the host's, which copies may use after the call.
  Result<void *> allocatePinned(uint64_t bytes, const std::string &what) const;
  void releasePinned(void *memory) const { driver.call().memFreeHost(memory); }
  /// Bytes of the device's memory that are free.
  uint64_t freeBytes() const;

private:
  CudaDevice(const CudaDriver &driver, DeviceNumber number, Handle context, DeviceIdentity facts, std::string words)
      : driver(driver), number(number), context(context), facts(std::move(facts)), words(std::move(words)) {}

  const CudaDriver &driver;
  DeviceNumber number;
  Handle context;
  DeviceIdentity facts;
  std::string words;
  std::vector<Handle> modules;
};

} // namespace npar::engine::cuda
