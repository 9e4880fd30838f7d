// Compares npar's declarations of NCCL's interface with those of nccl.h. It is enough that this compiles.
#include "engine/backends/cuda/nccl/NcclAbi.h"
#include "tests/engine/backends/cuda/AbiAgreement.h"

#include <cstring>
#include <nccl.h>

namespace npar::engine::cuda {
namespace {

#define NPAR_NCCL_AGREE(MEMBER, SYMBOL, RESULT, PARAMETERS)                                                                                \
  static_assert(Agree<decltype(NcclFunctions::MEMBER), decltype(&SYMBOL)>::value, #SYMBOL " is declared otherwise in nccl.h");
NPAR_NCCL_FUNCTIONS(NPAR_NCCL_AGREE)
#undef NPAR_NCCL_AGREE

static_assert(static_cast<int>(NcclCode::Success) == ncclSuccess && static_cast<int>(NcclCode::InProgress) == ncclInProgress);
static_assert(static_cast<int>(NcclType::F16) == ncclFloat16 && static_cast<int>(NcclType::F32) == ncclFloat32 &&
              static_cast<int>(NcclType::F64) == ncclFloat64 && static_cast<int>(NcclType::BF16) == ncclBfloat16);
static_assert(ncclAdds == ncclSum && ncclWithoutGroup == NCCL_SPLIT_NOCOLOR);
static_assert(ncclBytes == ncclUint8 && sizeof(NcclJob) == sizeof(ncclUniqueId));
// The configuration begins as it always has.
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size) && offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));

} // namespace
} // namespace npar::engine::cuda
