// The state of a warp while it runs: registers, which lanes have written them, where its lanes are.
#pragma once

#include "tests/engine/backends/standin/CudaAbi.h"
#include "tests/engine/backends/standin/Memory.h"
#include "tests/engine/backends/standin/ptx/Instruction.h"

#include <cstdlib>
#include <memory>

namespace npar::standin::ptx {

/// Lanes that are at the same instruction.
struct Group {
  enum class State : uint8_t { Runs, Waits, AtBarrier }; ///< waits: for the other lanes of a Gather
  uint32_t at = 0, lanes = 0;
  State state = State::Runs;
};

/// The state that all warps of a launch share.
struct LaunchState {
  const Kernel *kernel = nullptr;
  const Ranges *ranges = nullptr;
  const Memory *memory = nullptr; ///< for messages
  std::vector<uint8_t> parameters;
  std::vector<const Range *> lastRange; ///< by instruction
  std::vector<uint8_t> shared;          ///< of the block that runs
  uint64_t laneInstructions = 0;
  Code code = Code::Success;
  std::string message;
};

struct Warp {
  explicit Warp(LaunchState &launch);

  template <typename Element> Element *at(Slot slot) { return reinterpret_cast<Element *>(file.get() + slot.offset); }
  uint32_t &predicate(Slot slot) { return *at<uint32_t>(slot); }
  uint8_t *localOf(int lane) { return local.data() + static_cast<size_t>(lane) * launch.kernel->localBytes; }
  /// The first failure stays; the message gets the kernel, the line and the lane.
  void fail(Code code, const Instruction &instruction, int lane, const std::string &what);

  LaunchState &launch;
  std::unique_ptr<uint8_t, decltype(&std::free)> file; ///< lanes of each slot side by side
  std::vector<uint32_t> written;                       ///< by slot: the lanes that have a value
  std::vector<uint8_t> local;
  std::vector<Group> groups;
  unsigned number = 0; ///< in the block
};

} // namespace npar::standin::ptx
