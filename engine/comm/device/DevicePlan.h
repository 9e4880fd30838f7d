// Plans one operation whose members are in several processes as commands for a device: copies, messages to other devices, sums.
#pragma once

#include "engine/comm/process/Geometry.h"

#include <optional>
#include <variant>

namespace npar::engine {

/// Location of bytes: a member's input or output, or scratch memory.
struct DevicePlace {
  enum class Memory : uint8_t { Input, Output, Scratch };
  Memory memory = Memory::Scratch;
  uint32_t part = 0, member = 0; ///< for an operand
  uint64_t offset = 0;
};

struct CopyCommand {
  DevicePlace to, from;
  uint64_t bytes = 0;
};
struct ZeroCommand {
  DevicePlace to;
  uint64_t bytes = 0;
};
/// targets[i] = sources[0] op sources[1] op ..., in member order (RULES.md#N5).
struct SumCommand {
  uint32_t part = 0;
  std::vector<DevicePlace> sources, targets;
  uint64_t bytes = 0;
};
/// Messages that progress together. `party`: the place of the other process's party in the group.
struct ExchangeCommand {
  struct Message {
    bool sends = false;
    DevicePlace memory;
    uint64_t bytes = 0;
    size_t party = 0;
  };
  std::vector<Message> messages;
};
/// Collectives that the device library executes, in a group of processes that was made for them. They start together.
struct LibraryCommand {
  struct Collective {
    program::CollectiveKind kind = program::CollectiveKind::AllReduce;
    program::ElementType type = program::ElementType::F32;
    DevicePlace input, output;
    uint64_t count = 0; ///< elements of a process's piece
  };
  size_t group = 0; ///< index of the group
  std::vector<Collective> collectives;
};
using DeviceCommand = std::variant<CopyCommand, ZeroCommand, SumCommand, ExchangeCommand, LibraryCommand>;

/// The commands of a process for its members of an operation, in execution order, the same in every training step. Contiguous bytes move
/// from and to the members' own memory, others by way of scratch memory.
///
/// all_reduce: every party gets its slice of the elements from all members, adds it up, and sends the sum to each party. Sums are computed
/// in rounds of at most `mostScratch` / members bytes per party, so scratch memory does not grow with the operation. Both processes of a
/// pair have the same messages in the same order, because both cut by the same rules.
///
/// The library executes sums that allow it (Operation::library), part by part, and, once a group exists for them, all_gathers. Each process
/// must have one member, in the same order, and pieces must be contiguous and without padding.
struct DevicePlan {
  /// `library`: the number of the group that was made of these processes, if one was.
  DevicePlan(const Operation &operation, const Group &group, std::optional<size_t> library);
  /// True if the operation contains a sum for which a group should be made.
  static bool wantsLibrary(const Operation &operation, const Group &group);
  std::vector<DeviceCommand> commands;
  uint64_t scratchBytes = 0;

  static constexpr uint64_t mostScratch = uint64_t{64} << 20; ///< limit on bytes received for sums; the same amount may be sent
};

} // namespace npar::engine
