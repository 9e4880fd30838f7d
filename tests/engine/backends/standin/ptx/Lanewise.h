// Makes an instruction for all lanes of a function for one: loops without branches, which compilers turn into vectors.
#pragma once

#include "tests/engine/backends/standin/ptx/Warp.h"

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace npar::standin::ptx {

template <typename To, typename From> inline To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// The letter of an operand in a signature: p for a predicate (bool), h, w and d for 16, 32 and 64 bits.
template <typename Type> constexpr char letterOf() {
  return std::is_same_v<Type, bool> ? 'p' : sizeof(Type) == 2 ? 'h' : sizeof(Type) == 4 ? 'w' : 'd';
}

template <typename Type> struct Lanes {
  Lanes(Warp &warp, Slot slot) : values(warp.at<Type>(slot)) {}
  Type operator[](int lane) const { return values[lane]; }
  const Type *values;
};
template <> struct Lanes<bool> {
  Lanes(Warp &warp, Slot slot) : mask(warp.predicate(slot)) {}
  bool operator[](int lane) const { return (mask >> lane & 1) != 0; }
  uint32_t mask;
};

template <auto function, typename Result, typename... Arguments, size_t... index>
inline void runLanewise(const Instruction &instruction, Warp &warp, uint32_t active, std::index_sequence<index...>) {
  std::tuple<Lanes<Arguments>...> from{Lanes<Arguments>(warp, instruction.source[index])...};
  if constexpr (std::is_same_v<Result, bool>) {
    uint32_t mask = 0;
    for (int lane = 0; lane < warpLanes; ++lane)
      mask |= static_cast<uint32_t>(function(std::get<index>(from)[lane]...)) << lane;
    uint32_t &to = warp.predicate(instruction.target[0]);
    to = (to & ~active) | (mask & active);
  } else {
    Result *to = warp.at<Result>(instruction.target[0]);
    if (active == allLanes) {
#pragma GCC ivdep
      for (int lane = 0; lane < warpLanes; ++lane)
        to[lane] = function(std::get<index>(from)[lane]...);
    } else {
#pragma GCC ivdep
      for (int lane = 0; lane < warpLanes; ++lane) {
        Result value = function(std::get<index>(from)[lane]...);
        to[lane] = (active >> lane & 1) != 0 ? value : to[lane];
      }
    }
  }
}

/// An entry of the instruction table. The signature is the target's letter and those of the sources.
struct Operation {
  Handler run = nullptr;
  std::string signature;
  Instruction::Kind kind = Instruction::Kind::Plain;
};

template <auto function, typename Result, typename... Arguments> Operation lanewiseOf(Result (*)(Arguments...)) {
  Operation operation;
  operation.run = [](const Instruction &instruction, Warp &warp, uint32_t active) {
    runLanewise<function, Result, Arguments...>(instruction, warp, active, std::index_sequence_for<Arguments...>());
  };
  operation.signature = {letterOf<Result>(), letterOf<Arguments>()...};
  return operation;
}

/// The operation of a function for one lane; its operands are unsigned integers of the registers' sizes, or bool.
template <auto function> Operation lanewise() { return lanewiseOf<function>(function); }

} // namespace npar::standin::ptx
