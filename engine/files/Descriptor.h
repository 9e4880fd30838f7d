// A file descriptor that is closed with its owner, also when an allocation throws.
#pragma once

#include <unistd.h>
#include <utility>

namespace npar::files {

/// -1 is none.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int get() const { return number; }
  explicit operator bool() const { return number >= 0; }
  /// Leaves the closing to the caller.
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

} // namespace npar::files
