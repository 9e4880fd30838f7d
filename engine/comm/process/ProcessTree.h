// The processes of a job as a tree whose subtrees are ranges of numbers: the way of what all have to say to all.
#pragma once

#include <cstdint>
#include <vector>

namespace npar::engine {

/// Around one process. Process 0 is the root; a process stands for the range of numbers that begins with its own, and what is left of the
/// range is cut into at most `arity` ranges of equal size (or one more), whose first processes stand below it. So neighbours, which a
/// launcher puts on one host, are in one subtree, and what a subtree gives is in order when it is put together.
///
/// 16: up to 17 processes it is two hops, one up and one down, up to 273 four, up to 4,369 six. What a process spends on a message (1 to 2
/// microseconds) times 16 is about what a hop costs between hosts, so a wider tree would not be faster.
struct ProcessTree {
  static constexpr uint32_t arity = 16;
  struct Range {
    uint32_t first = 0, count = 0;
  };
  ProcessTree(uint32_t processes, uint32_t self);
  uint32_t above = 0; ///< of process 0: itself
  std::vector<Range> below;
};

} // namespace npar::engine
