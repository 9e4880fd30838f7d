// Memory that ends where reading is not allowed.
#pragma once

#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace npar::testing {

/// Elements after which a page begins that nothing may read or write: an access beyond the last element ends the test.
template <class T> struct FencedOperand {
  explicit FencedOperand(size_t count) : size(count) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t used = (count * sizeof(T) + page - 1) / page * page;
    bytes = used + page;
    memory = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED || mprotect(memory + used, page, PROT_NONE) != 0)
      throw std::bad_alloc();
    data = reinterpret_cast<T *>(memory + used) - count;
  }
  ~FencedOperand() { munmap(memory, bytes); }
  FencedOperand(const FencedOperand &) = delete;
  FencedOperand &operator=(const FencedOperand &) = delete;

  T *data;
  size_t size;

private:
  char *memory;
  size_t bytes;
};

} // namespace npar::testing
