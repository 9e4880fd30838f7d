// A place in a device's memory: to everyone but the device's backend a number that can be handed on and not followed.
#pragma once

#include <cstdint>

namespace npar::engine {

/// Nothing here says that the processor can read what lies there: bytes come and go by Backend::copyIn and copyOut. As large as a pointer
/// and nothing else, so that an array of them is what a kernel takes as its buffers.
class DeviceAddress {
public:
  constexpr DeviceAddress() = default;
  explicit constexpr DeviceAddress(void *pointer) : address(pointer) {}
  /// For the backend whose memory it is; nobody else may follow it (tests/end_to_end/test_layering.py looks for who asks).
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
