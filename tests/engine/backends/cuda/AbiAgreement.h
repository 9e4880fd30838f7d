// Checks that a function's own declaration in npar has the same calling interface as the declaration in a CUDA header.
#pragma once

#include <type_traits>

namespace npar::engine::cuda {

/// True if both types look the same to a caller: both are pointers, or they have the same size and kind.
template <class Ours, class Theirs>
constexpr bool sameToCaller = std::is_void_v<Ours> == std::is_void_v<Theirs> &&std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                              sizeof(Ours) == sizeof(Theirs) && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs> struct Agree : std::false_type {};
template <class Given, class Taken, class... Ours, class... Theirs>
struct Agree<Given (*)(Ours...), Taken (*)(Theirs...)>
    : std::bool_constant<sameToCaller<Given, Taken> && (sameToCaller<Ours, Theirs> && ...)> {};

} // namespace npar::engine::cuda
