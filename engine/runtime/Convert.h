// Element types as C++ types, and conversion between any two of them.
#pragma once

#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Enums_generated.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace npar::engine {

/// Calls with(value of the C++ type that holds elements of `type`).
template <typename With> auto withType(program::ElementType type, With with) {
  switch (type) {
  case program::ElementType::F32:
    return with(float{});
  case program::ElementType::F64:
    return with(double{});
  case program::ElementType::BF16:
    return with(program::BFloat16{});
  case program::ElementType::F16:
    return with(program::Float16{});
  case program::ElementType::I32:
    return with(int32_t{});
  case program::ElementType::U8:
    return with(uint8_t{});
  }
  std::abort(); // a verified program has no other type
}

template <typename To, typename From> void convert(To *to, const void *from, uint64_t count) {
  if constexpr (std::is_same_v<To, From>) {
    std::memcpy(to, from, count * sizeof(To));
    return;
  }
  const From *source = static_cast<const From *>(from);
  constexpr bool narrow = sizeof(From) == 2 || sizeof(To) == 2; // 16-bit floats know float only
  for (uint64_t i = 0; i < count; ++i)
    if constexpr (narrow)
      to[i] = static_cast<To>(static_cast<float>(source[i]));
    else
      to[i] = static_cast<To>(source[i]);
}

} // namespace npar::engine
