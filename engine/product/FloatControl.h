// Rounding and flushing of the calling thread as the definition of a product wants them, whatever its caller left, for a scope.
#pragma once

#include <xmmintrin.h>

namespace npar::engine {

class FloatControl {
public:
  /// Round to nearest even, exceptions masked; Flushing: denormal operands are zero, denormal results become zero.
  enum Mode : unsigned { Precise = 0x1f80, Flushing = 0x9fc0 };
  explicit FloatControl(Mode mode) : before(_mm_getcsr()) {
    if (before != mode)
      _mm_setcsr(mode);
  }
  ~FloatControl() { _mm_setcsr(before); }
  FloatControl(const FloatControl &) = delete;
  FloatControl &operator=(const FloatControl &) = delete;

private:
  unsigned before;
};

} // namespace npar::engine
