// Whether a function that npar declares by itself is the one that a header of CUDA declares, as far as a caller can tell.
#pragma once

#include <type_traits>

namespace npar::engine::cuda {

/// Alike to a caller: pointers, or anything else of one size and kind.
template <class Ours, class Theirs>
constexpr bool alike = std::is_void_v<Ours> == std::is_void_v<Theirs> &&std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                       sizeof(Ours) == sizeof(Theirs) && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs> struct Agree : std::false_type {};
template <class Given, class Taken, class... Ours, class... Theirs>
struct Agree<Given (*)(Ours...), Taken (*)(Theirs...)> : std::bool_constant<alike<Given, Taken> && (alike<Ours, Theirs> && ...)> {};

} // namespace npar::engine::cuda
