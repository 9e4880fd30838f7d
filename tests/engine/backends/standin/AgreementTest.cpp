// The numbers of CudaAbi.h are those of cuda.h, where that is installed.
#include "tests/engine/backends/standin/CudaAbi.h"

#include <cuda.h>

using namespace npar::standin;

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME(Code::Success, CUDA_SUCCESS);
SAME(Code::InvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(Code::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(Code::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(Code::DeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(Code::NoDevice, CUDA_ERROR_NO_DEVICE);
SAME(Code::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(Code::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(Code::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(Code::PeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
SAME(Code::InvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(Code::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(Code::NotFound, CUDA_ERROR_NOT_FOUND);
SAME(Code::NotReady, CUDA_ERROR_NOT_READY);
SAME(Code::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(Code::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(Code::PeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(Code::HostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(Code::HostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(Code::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(Code::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(Code::NotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(Code::StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(Code::StreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(Code::StreamCaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME(Code::StreamCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(Code::StreamCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(Code::StreamCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(Code::CapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME(Code::StreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(Code::Unknown, CUDA_ERROR_UNKNOWN);

SAME(DeviceAttribute::MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(DeviceAttribute::MaxBlockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME(DeviceAttribute::MaxBlockDimY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
SAME(DeviceAttribute::MaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(DeviceAttribute::MaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(DeviceAttribute::MaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME(DeviceAttribute::MaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(DeviceAttribute::MaxSharedPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(DeviceAttribute::TotalConstantMemory, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
SAME(DeviceAttribute::WarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(DeviceAttribute::MaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
SAME(DeviceAttribute::ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(DeviceAttribute::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(DeviceAttribute::Integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(DeviceAttribute::CanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(DeviceAttribute::ComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME(DeviceAttribute::ConcurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
SAME(DeviceAttribute::EccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
SAME(DeviceAttribute::PciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(DeviceAttribute::PciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(DeviceAttribute::MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(DeviceAttribute::GlobalMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(DeviceAttribute::L2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(DeviceAttribute::MaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::AsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(DeviceAttribute::UnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(DeviceAttribute::PciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(DeviceAttribute::ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(DeviceAttribute::ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(DeviceAttribute::StreamPrioritiesSupported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
SAME(DeviceAttribute::MaxSharedPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::MaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::ManagedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME(DeviceAttribute::PageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
SAME(DeviceAttribute::CanUseHostPointer, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
SAME(DeviceAttribute::CooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(DeviceAttribute::MaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(DeviceAttribute::MemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);

SAME(FunctionAttribute::MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(FunctionAttribute::SharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(FunctionAttribute::ConstantBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(FunctionAttribute::LocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(FunctionAttribute::Registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(FunctionAttribute::PtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME(FunctionAttribute::BinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME(FunctionAttribute::CacheModeCa, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
SAME(FunctionAttribute::MaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(FunctionAttribute::PreferredSharedCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);

SAME(JitOption::InfoLogBuffer, CU_JIT_INFO_LOG_BUFFER);
SAME(JitOption::InfoLogBufferBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(JitOption::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(JitOption::ErrorLogBufferBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(eventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(CaptureMode::Global, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(CaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(CaptureStatus::None, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(CaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(WaitValue::AtLeast, CU_STREAM_WAIT_VALUE_GEQ);
SAME(WaitValue::Equal, CU_STREAM_WAIT_VALUE_EQ);
SAME(WaitValue::And, CU_STREAM_WAIT_VALUE_AND);
SAME(WaitValue::Nor, CU_STREAM_WAIT_VALUE_NOR);

static_assert(sizeof(Code) == sizeof(CUresult));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(sizeof(DeviceNumber) == sizeof(CUdevice));
static_assert(sizeof(Handle) == sizeof(CUstream));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
