// Compares npar's declarations of NCCL's interface with those of nccl.h. It is enough that this compiles.
#include "engine/backends/cuda/NcclAbi.h"

#include <cstring>
#include <nccl.h>
#include <type_traits>

namespace npar::engine::cuda {
namespace {

/// Alike to a caller: pointers, or anything else of one size.
template <class Ours, class Theirs>
constexpr bool alike = std::is_void_v<Ours> == std::is_void_v<Theirs> &&std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                       sizeof(Ours) == sizeof(Theirs);

template <class Ours, class Theirs> struct Agree : std::false_type {};
template <class Given, class Taken, class... Ours, class... Theirs>
struct Agree<Given (*)(Ours...), Taken (*)(Theirs...)> : std::bool_constant<alike<Given, Taken> && (alike<Ours, Theirs> && ...)> {};

#define NPAR_NCCL_AGREE(MEMBER, SYMBOL, RESULT, PARAMETERS)                                                                                \
  static_assert(Agree<decltype(NcclFunctions::MEMBER), decltype(&SYMBOL)>::value, #SYMBOL " is declared otherwise in nccl.h");
NPAR_NCCL_FUNCTIONS(NPAR_NCCL_AGREE)
#undef NPAR_NCCL_AGREE

static_assert(static_cast<int>(NcclCode::Success) == ncclSuccess && static_cast<int>(NcclCode::InProgress) == ncclInProgress);
static_assert(ncclBytes == ncclUint8 && sizeof(NcclJob) == sizeof(ncclUniqueId));
// The configuration begins as it always has.
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size) && offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));

} // namespace
} // namespace npar::engine::cuda
