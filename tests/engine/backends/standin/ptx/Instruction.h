// A decoded instruction and what it works on: the 32 lanes of a warp, a register of all of them side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npar::standin::ptx {

constexpr int warpLanes = 32;
constexpr uint32_t allLanes = 0xFFFFFFFF;

struct Instruction;
struct Warp;

/// Executes an instruction for the lanes in `active`. Reports errors with Warp::fail.
using Handler = void (*)(const Instruction &, Warp &, uint32_t active);

/// A register, a constant or a special register: the place of its lanes in the warp's register file, and its number.
struct Slot {
  uint32_t offset = 0, number = 0;
};

struct Instruction {
  enum class Kind : uint8_t {
    Plain,
    Copy,    ///< what was never written may be copied
    Gather,  ///< lanes named in the mask, the last source, do it together
    Barrier, ///< of the block
    Branch,
    Exit,
  };
  Handler run = nullptr;
  Kind kind = Kind::Plain;
  uint8_t targets = 0, sources = 0; ///< how many
  bool guarded = false, guardNegated = false;
  Slot target[4], source[6], guard;
  int64_t offset = 0;  ///< added to an address
  uint64_t limit = 0;  ///< bytes of the parameters, for an access to them
  uint32_t branch = 0; ///< the instruction that a branch goes to
  uint32_t number = 0; ///< of the instruction
  int line = 0;        ///< of the text
};

/// A value that is the same for all lanes and launches.
struct Constant {
  Slot slot;
  unsigned bytes;
  uint64_t value;
};

enum class Special : uint8_t { TidX, TidY, TidZ, NtidX, NtidY, NtidZ, CtaidX, CtaidY, CtaidZ, NctaidX, NctaidY, NctaidZ, Lane, WarpNumber };

struct SpecialSlot {
  Slot slot;
  Special special;
};

/// A kernel that can be run.
struct Kernel {
  std::string name;
  uint64_t parameterBytes = 0;
  std::vector<std::pair<uint64_t, uint64_t>> parameters; ///< offset, bytes
  unsigned threads[3] = {0, 1, 1};                       ///< that a block must have; 0: any
  uint64_t sharedBytes = 0, localBytes = 0;              ///< of a block, of a thread
  unsigned registers = 0;                                ///< 32-bit words per thread, as the text names them
  bool hasBarrier = false;
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  std::vector<SpecialSlot> specials;
  uint32_t fileBytes = 0, slots = 0;
  int version = 0;
};

// The first addresses of spaces other than the global one. No pointer to memory is that low.
constexpr uint64_t parameterBase = 0x1000, localBase = 0x1000000, sharedBase = 0x2000000, spaceEnd = 0x3000000;

} // namespace npar::standin::ptx
