// Element types as C++ types, and conversion between any two of them.
#pragma once

#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Elements.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace npar::engine {

/// Calls with(value of the C++ type that holds elements of `type`). This switch is the only place that pairs the two.
template <typename With> constexpr auto withType(program::ElementType type, With with) {
  switch (type) {
  case program::ElementType::F32:
    return with(float{});
  case program::ElementType::F64:
    return with(double{});
  case program::ElementType::BF16:
    return with(BFloat16{});
  case program::ElementType::F16:
    return with(Float16{});
  case program::ElementType::I32:
    return with(int32_t{});
  case program::ElementType::U8:
    return with(uint8_t{});
  }
  throw std::logic_error("internal error: a number that is no element type"); // a verified program has none
}

/// The element type that the C++ type T holds.
template <typename T> constexpr program::ElementType elementTypeOf() {
  for (const program::ElementRow &row : program::elementRows)
    if (withType(row.type, [](auto element) { return std::is_same_v<decltype(element), T>; }))
      return row.type;
  throw std::logic_error("internal error: no element type has this C++ type");
}

/// True for the C++ types of 16-bit floats, which convert to and from float alone.
template <typename T> constexpr bool isNarrowFloat = std::is_class_v<T>;

/// The C++ type of program::widened.
template <typename T>
using Widened = std::conditional_t<isNarrowFloat<T>, float, std::conditional_t<(sizeof(T) < sizeof(int32_t)), int32_t, T>>;

constexpr bool isWidenedByTable() {
  for (const program::ElementRow &row : program::elementRows)
    if (!withType(row.type, [&](auto element) { return elementTypeOf<Widened<decltype(element)>>() == row.widened; }))
      return false;
  return true;
}
static_assert(isWidenedByTable(), "Widened is not the table's type");

/// Calls with(value of the C++ type of widened(type)).
template <typename With> auto withWidened(program::ElementType type, With with) {
  return withType(type, [&](auto element) { return with(Widened<decltype(element)>{}); });
}

/// The element nearest to a value.
template <typename T> T nearestElement(double value) {
  if constexpr (isNarrowFloat<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// The value of an element, exactly.
template <typename T> double exactValue(T element) { return static_cast<double>(static_cast<Widened<T>>(element)); }

template <typename To, typename From> void convert(To *to, const void *from, uint64_t count) {
  if constexpr (std::is_same_v<To, From>) {
    std::memcpy(to, from, count * sizeof(To));
    return;
  }
  const From *source = static_cast<const From *>(from);
  constexpr bool narrow = isNarrowFloat<From> || isNarrowFloat<To>;
  for (uint64_t i = 0; i < count; ++i)
    if constexpr (narrow)
      to[i] = static_cast<To>(static_cast<float>(source[i]));
    else
      to[i] = static_cast<To>(source[i]);
}

} // namespace npar::engine
