// A place in a device's memory. Only the device's backend may dereference it; for all other code it is an opaque number.
#pragma once

#include <cstdint>

namespace npar::engine {

/// The processor may be unable to read this memory: use Backend::copyIn and copyOut. It has the size of a pointer, so that an array of
/// addresses can be passed to a kernel as its buffers.
class DeviceAddress {
public:
  constexpr DeviceAddress() = default;
  explicit constexpr DeviceAddress(void *pointer) : address(pointer) {}
  /// For the backend that owns the memory; no other code may dereference it (checked by tests/end_to_end/test_layering.py).
  void *devicePointer() const { return address; }
  explicit operator bool() const { return address != nullptr; }

  friend DeviceAddress operator+(DeviceAddress base, uint64_t bytes) {
    return DeviceAddress(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(base.address) + bytes));
  }
  friend bool operator==(DeviceAddress left, DeviceAddress right) { return left.address == right.address; }
  friend bool operator!=(DeviceAddress left, DeviceAddress right) { return left.address != right.address; }

private:
  void *address = nullptr;
};

static_assert(sizeof(DeviceAddress) == sizeof(void *), "a kernel's buffers are an array of these");

} // namespace npar::engine
