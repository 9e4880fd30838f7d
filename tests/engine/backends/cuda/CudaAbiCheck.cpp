// Compares npar's declarations of the CUDA driver's interface with those of cuda.h. It is enough that this compiles.
#include "engine/backends/cuda/driver/CudaAbi.h"
#include "tests/engine/backends/cuda/AbiAgreement.h"

#include <cuda.h>

namespace npar::engine::cuda {
namespace {

#define NPAR_CUDA_AGREE(MEMBER, SYMBOL, PARAMETERS)                                                                                        \
  static_assert(Agree<decltype(Functions::MEMBER), decltype(&SYMBOL)>::value, #SYMBOL " is declared otherwise in cuda.h");
NPAR_CUDA_FUNCTIONS(NPAR_CUDA_AGREE)
#undef NPAR_CUDA_AGREE

template <class Ours, class Theirs> constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs);
}

static_assert(same(Code::Success, CUDA_SUCCESS) && same(Code::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY) &&
              same(Code::NoDevice, CUDA_ERROR_NO_DEVICE) && same(Code::NotReady, CUDA_ERROR_NOT_READY) &&
              same(Code::PeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
static_assert(same(DeviceAttribute::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) &&
              same(DeviceAttribute::ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
              same(DeviceAttribute::ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(JitOption::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER) &&
              same(JitOption::ErrorLogBufferBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(same(streamNonBlocking, CU_STREAM_NON_BLOCKING) && same(eventDisableTiming, CU_EVENT_DISABLE_TIMING));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr) && sizeof(DeviceNumber) == sizeof(CUdevice));

} // namespace
} // namespace npar::engine::cuda
