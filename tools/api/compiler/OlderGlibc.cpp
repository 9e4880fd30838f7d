// LLVM's archive calls arc4random, which glibc has since 2.36. With one of its own the library loads where glibc is 2.34.
#include <cstdint>
#include <sys/random.h>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  while (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) // a signal came before the kernel had gathered any
    continue;
  return value;
}
