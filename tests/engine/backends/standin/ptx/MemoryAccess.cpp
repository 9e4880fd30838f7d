// Finds the bytes of each lane's address. An instruction mostly looks where it looked before.
#include "tests/engine/backends/standin/ptx/MemoryAccess.h"

#include "tests/engine/backends/standin/ptx/Warp.h"

#include <cstdio>
#include <cstring>

namespace npar::standin::ptx {

namespace {
std::string atAddress(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

/// Returns a lane's bytes, or null.
uint8_t *find(Space space, const Instruction &instruction, Warp &warp, int lane, uint64_t address, uint64_t bytes) {
  LaunchState &launch = warp.launch;
  auto inside = [&](uint64_t base, uint64_t size) { return address >= base && address - base <= size && bytes <= size - (address - base); };
  if (space == Space::Generic)
    space = address < localBase    ? Space::Parameter
            : address < sharedBase ? Space::Local
            : address < spaceEnd   ? Space::Shared
                                   : Space::Global;
  switch (space) {
  case Space::Generic:
  case Space::Global: {
    const Range *&range = launch.lastRange[instruction.number];
    if (!range || address < range->begin || address >= range->end || bytes > range->end - address)
      range = launch.ranges->find(address, bytes);
    return range ? range->bytes + (address - range->begin) : nullptr;
  }
  case Space::Shared:
    return inside(sharedBase, launch.shared.size()) ? launch.shared.data() + (address - sharedBase) : nullptr;
  case Space::Local:
    return inside(localBase, launch.kernel->localBytes) ? warp.localOf(lane) + (address - localBase) : nullptr;
  case Space::Parameter:
    return inside(parameterBase, launch.parameters.size()) ? launch.parameters.data() + (address - parameterBase) : nullptr;
  }
  return nullptr;
}

struct Pointers {
  uint8_t *of[warpLanes];
};

/// Addresses side by side, and their bytes.
struct Stretch {
  uint64_t begin = 0, size = 0;
  uint8_t *bytes = nullptr;
};

/// Where an instruction probably looks. The global space has many allocations, of which the last one is the best guess; in the local space
/// each lane has its own bytes.
Stretch likelyStretch(Space space, const Instruction &instruction, LaunchState &launch) {
  if (space == Space::Shared)
    return {sharedBase, launch.shared.size(), launch.shared.data()};
  if (space == Space::Parameter)
    return {parameterBase, launch.parameters.size(), launch.parameters.data()};
  const Range *range = space == Space::Global ? launch.lastRange[instruction.number] : nullptr;
  return range ? Stretch{range->begin, range->end - range->begin, range->bytes} : Stretch{};
}

/// True if the accesses of all active lanes are aligned and inside. Without branches, so that lanes go side by side. `bytes`, of an access,
/// is a power of two and no more than the stretch has.
bool areInside(const Stretch &stretch, const uint64_t *addresses, uint64_t offset, uint32_t active, uint64_t bytes) {
  uint64_t last = stretch.size - bytes, wrong = 0;
  for (int lane = 0; lane < warpLanes; ++lane) {
    uint64_t address = addresses[lane] + offset, isOutside = address - stretch.begin > last ? 1 : 0;
    wrong |= (isOutside | (address & (bytes - 1))) * (active >> lane & 1);
  }
  return wrong == 0;
}

bool resolve(Space space, const Instruction &instruction, Warp &warp, uint32_t active, uint64_t bytes, const char *what,
             Pointers &pointers) {
  const auto *addresses = warp.at<uint64_t>(instruction.source[0]);
  auto offset = static_cast<uint64_t>(instruction.offset);
  Stretch stretch = likelyStretch(space, instruction, warp.launch);
  if (stretch.size >= bytes && areInside(stretch, addresses, offset, active, bytes)) {
    uint64_t shift = reinterpret_cast<uint64_t>(stretch.bytes) - stretch.begin + offset;
    for (int lane = 0; lane < warpLanes; ++lane) // those of inactive lanes point anywhere
      pointers.of[lane] = reinterpret_cast<uint8_t *>(addresses[lane] + shift);
    return true;
  }
  for (int lane = 0; lane < warpLanes; ++lane) {
    if ((active >> lane & 1) == 0)
      continue;
    uint64_t address = addresses[lane] + offset;
    auto failed = [&](Code code, const std::string &why) {
      warp.fail(code, instruction, lane,
                std::string(what) + " of " + std::to_string(bytes) + " bytes at " + atAddress(address) + ": " + why);
      return false;
    };
    if (address % bytes != 0)
      return failed(Code::MisalignedAddress, "not aligned");
    pointers.of[lane] = find(space, instruction, warp, lane, address, bytes);
    if (!pointers.of[lane])
      return failed(Code::IllegalAddress,
                    address < spaceEnd ? "outside of the variables of its space" : warp.launch.memory->describe(address));
  }
  return true;
}

/// A type smaller than the register is extended by its sign or zeros.
template <Space space, typename Value, typename Register> void load(const Instruction &instruction, Warp &warp, uint32_t active) {
  Pointers pointers;
  if (!resolve(space, instruction, warp, active, sizeof(Value) * instruction.targets, "a load", pointers))
    return;
  for (int part = 0; part < instruction.targets; ++part) {
    Register *to = warp.at<Register>(instruction.target[part]);
    for (int lane = 0; lane < warpLanes; ++lane)
      if (active >> lane & 1) {
        Value value;
        std::memcpy(&value, pointers.of[lane] + static_cast<size_t>(part) * sizeof value, sizeof value);
        to[lane] = static_cast<Register>(value);
      }
  }
}

template <Space space, typename Value, typename Register> void store(const Instruction &instruction, Warp &warp, uint32_t active) {
  Pointers pointers;
  auto parts = static_cast<size_t>(instruction.sources - 1);
  if (!resolve(space, instruction, warp, active, sizeof(Value) * parts, "a store", pointers))
    return;
  for (int lane = 0; lane < warpLanes; ++lane) // lanes that store to one address: the last one stays
    if (active >> lane & 1)
      for (size_t part = 0; part < parts; ++part) {
        auto value = static_cast<Value>(warp.at<Register>(instruction.source[part + 1])[lane]);
        std::memcpy(pointers.of[lane] + part * sizeof value, &value, sizeof value);
      }
}

template <Space space, typename Value, bool isStore> Handler ofRegister(char letter) {
  constexpr size_t bytes = sizeof(Value);
  if (letter == 'h' && bytes <= 2)
    return isStore ? store<space, Value, uint16_t> : load<space, Value, uint16_t>;
  if (letter == 'w' && bytes <= 4)
    return isStore ? store<space, Value, uint32_t> : load<space, Value, uint32_t>;
  return letter == 'd' ? (isStore ? store<space, Value, uint64_t> : load<space, Value, uint64_t>) : nullptr;
}

template <Space space, bool isStore> Handler ofType(const std::string &type, char letter) {
  const std::string bits = type.substr(1);
  bool isSigned = type[0] == 's';
  if (bits == "8")
    return isSigned ? ofRegister<space, int8_t, isStore>(letter) : ofRegister<space, uint8_t, isStore>(letter);
  if (bits == "16")
    return isSigned ? ofRegister<space, int16_t, isStore>(letter) : ofRegister<space, uint16_t, isStore>(letter);
  if (bits == "32")
    return isSigned ? ofRegister<space, int32_t, isStore>(letter) : ofRegister<space, uint32_t, isStore>(letter);
  return bits == "64" ? ofRegister<space, uint64_t, isStore>(letter) : nullptr;
}

template <bool isStore> Handler ofSpace(Space space, const std::string &type, char letter) {
  if (type.size() < 2 || std::string("bsuf").find(type[0]) == std::string::npos)
    return nullptr;
  switch (space) {
  case Space::Generic:
    return ofType<Space::Generic, isStore>(type, letter);
  case Space::Global:
    return ofType<Space::Global, isStore>(type, letter);
  case Space::Shared:
    return ofType<Space::Shared, isStore>(type, letter);
  case Space::Local:
    return ofType<Space::Local, isStore>(type, letter);
  case Space::Parameter:
    return isStore ? nullptr : ofType<Space::Parameter, isStore>(type, letter);
  }
  return nullptr;
}
} // namespace

Handler loadOf(Space space, const std::string &type, char letter) { return ofSpace<false>(space, type, letter); }
Handler storeOf(Space space, const std::string &type, char letter) { return ofSpace<true>(space, type, letter); }

} // namespace npar::standin::ptx
