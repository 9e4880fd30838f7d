// Divides a part's scratch memory into pieces aligned to cache lines, and computes addresses.
#pragma once

#include <cstdint>

namespace npar::engine {

inline int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
inline char *advance(void *pointer, int64_t bytes) { return static_cast<char *>(pointer) + bytes; }
inline const char *advance(const void *pointer, int64_t bytes) { return static_cast<const char *>(pointer) + bytes; }

/// Only adds up the required size if `memory` is null.
class Pieces {
public:
  explicit Pieces(void *memory) : memory(static_cast<char *>(memory)) {}
  char *take(int64_t bytes) {
    char *piece = memory ? memory + used : nullptr;
    used += roundUp(bytes, 64);
    return piece;
  }
  uint64_t total() const { return uint64_t(used); }

private:
  char *memory;
  int64_t used = 0;
};

} // namespace npar::engine
