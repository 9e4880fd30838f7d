// Arranges the processes of a job as a tree whose subtrees are ranges of numbers, for messages from all to all.
#pragma once

#include <cstdint>
#include <vector>

namespace npar::engine {

/// The tree as seen by one process. Process 0 is the root. A process is responsible for the range of numbers that begins with its own; the
/// rest of the range is cut into at most `arity` ranges of equal size (or one more), whose first processes are its children. So neighbours,
/// which a launcher puts on one host, are in one subtree, and a subtree's contributions are in order when they are combined.
///
/// With 16, up to 17 processes take two hops, one up and one down; up to 273 take four, up to 4,369 six. The time that a process spends on
/// a message (1 to 2 microseconds) times 16 is about the cost of a hop between hosts, so a wider tree would not be faster.
struct ProcessTree {
  static constexpr uint32_t arity = 16;
  struct Range {
    uint32_t first = 0, count = 0;
  };
  ProcessTree(uint32_t processes, uint32_t self);
  uint32_t above = 0; ///< parent; process 0: itself
  std::vector<Range> below;
};

} // namespace npar::engine
