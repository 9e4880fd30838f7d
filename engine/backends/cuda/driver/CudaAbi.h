// The part of the CUDA driver's binary interface that npar calls: handles, numbers and the table of functions, so that neither a header nor
// a library of CUDA is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npar::engine::cuda {

/// CUresult, as far as npar tells codes apart; the driver has names for all of them.
enum class Code : int {
  Success = 0,
  OutOfMemory = 2,
  NoDevice = 100,
  PeerAccessAlreadyEnabled = 704,
  NotReady = 600,
};

using DeviceNumber = int;                 ///< CUdevice
using DevicePointer = unsigned long long; ///< CUdeviceptr
constexpr long mostBlocks = 65535;        ///< of a launch in its second and third direction
using Handle = void *;                    ///< CUcontext, CUmodule, CUfunction, CUstream, CUevent, CUgraph, CUgraphExec: never followed

/// CUuuid.
struct Uuid {
  unsigned char bytes[16];
};

/// CUdevice_attribute.
enum class DeviceAttribute : int { MultiprocessorCount = 16, ComputeCapabilityMajor = 75, ComputeCapabilityMinor = 76 };

/// CUjit_option.
enum class JitOption : int { ErrorLogBuffer = 5, ErrorLogBufferBytes = 6 };

constexpr unsigned streamNonBlocking = 1;  ///< CU_STREAM_NON_BLOCKING
constexpr unsigned eventDisableTiming = 2; ///< CU_EVENT_DISABLE_TIMING
constexpr int captureThreadLocal = 1;      ///< CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may do what they like

/// FUNCTION(member of the table, symbol of the library, parameters). All return CUresult.
#define NPAR_CUDA_FUNCTIONS(FUNCTION)                                                                                                      \
  FUNCTION(init, cuInit, (unsigned flags))                                                                                                 \
  FUNCTION(driverGetVersion, cuDriverGetVersion, (int *version))                                                                           \
  FUNCTION(getErrorName, cuGetErrorName, (Code code, const char **text))                                                                   \
  FUNCTION(getErrorString, cuGetErrorString, (Code code, const char **text))                                                               \
  FUNCTION(deviceGetCount, cuDeviceGetCount, (int *count))                                                                                 \
  FUNCTION(deviceGet, cuDeviceGet, (DeviceNumber * device, int ordinal))                                                                   \
  FUNCTION(deviceGetName, cuDeviceGetName, (char *name, int bytes, DeviceNumber device))                                                   \
  FUNCTION(deviceGetAttribute, cuDeviceGetAttribute, (int *value, DeviceAttribute attribute, DeviceNumber device))                         \
  FUNCTION(deviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, DeviceNumber device))                                                     \
  FUNCTION(deviceGetUuid, cuDeviceGetUuid_v2, (Uuid * uuid, DeviceNumber device))                                                          \
  FUNCTION(deviceCanAccessPeer, cuDeviceCanAccessPeer, (int *can, DeviceNumber device, DeviceNumber peer))                                 \
  FUNCTION(primaryContextRetain, cuDevicePrimaryCtxRetain, (Handle * context, DeviceNumber device))                                        \
  FUNCTION(primaryContextRelease, cuDevicePrimaryCtxRelease_v2, (DeviceNumber device))                                                     \
  FUNCTION(contextSetCurrent, cuCtxSetCurrent, (Handle context))                                                                           \
  FUNCTION(contextSynchronize, cuCtxSynchronize, ())                                                                                       \
  FUNCTION(contextEnablePeerAccess, cuCtxEnablePeerAccess, (Handle peer, unsigned flags))                                                  \
  FUNCTION(moduleLoadDataEx, cuModuleLoadDataEx, (Handle * module, const void *image, unsigned count, JitOption *options, void **values))  \
  FUNCTION(moduleUnload, cuModuleUnload, (Handle module))                                                                                  \
  FUNCTION(moduleGetFunction, cuModuleGetFunction, (Handle * function, Handle module, const char *name))                                   \
  FUNCTION(memGetInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                   \
  FUNCTION(memAlloc, cuMemAlloc_v2, (DevicePointer * memory, size_t bytes))                                                                \
  FUNCTION(memFree, cuMemFree_v2, (DevicePointer memory))                                                                                  \
  FUNCTION(memHostAlloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                                                    \
  FUNCTION(memFreeHost, cuMemFreeHost, (void *memory))                                                                                     \
  FUNCTION(copyInAsync, cuMemcpyHtoDAsync_v2, (DevicePointer target, const void *source, size_t bytes, Handle stream))                     \
  FUNCTION(copyOutAsync, cuMemcpyDtoHAsync_v2, (void *target, DevicePointer source, size_t bytes, Handle stream))                          \
  FUNCTION(copyAsync, cuMemcpyDtoDAsync_v2, (DevicePointer target, DevicePointer source, size_t bytes, Handle stream))                     \
  FUNCTION(copyPeerAsync, cuMemcpyPeerAsync,                                                                                               \
           (DevicePointer target, Handle targetContext, DevicePointer source, Handle sourceContext, size_t bytes, Handle stream))          \
  FUNCTION(setBytesAsync, cuMemsetD8Async, (DevicePointer target, unsigned char value, size_t count, Handle stream))                       \
  FUNCTION(setWordsAsync, cuMemsetD32Async, (DevicePointer target, unsigned value, size_t count, Handle stream))                           \
  FUNCTION(streamCreate, cuStreamCreate, (Handle * stream, unsigned flags))                                                                \
  FUNCTION(streamDestroy, cuStreamDestroy_v2, (Handle stream))                                                                             \
  FUNCTION(streamSynchronize, cuStreamSynchronize, (Handle stream))                                                                        \
  FUNCTION(streamWaitEvent, cuStreamWaitEvent, (Handle stream, Handle event, unsigned flags))                                              \
  FUNCTION(streamBeginCapture, cuStreamBeginCapture_v2, (Handle stream, int mode))                                                         \
  FUNCTION(streamEndCapture, cuStreamEndCapture, (Handle stream, Handle * graph))                                                          \
  FUNCTION(graphInstantiate, cuGraphInstantiateWithFlags, (Handle * executable, Handle graph, unsigned long long flags))                   \
  FUNCTION(graphLaunch, cuGraphLaunch, (Handle executable, Handle stream))                                                                 \
  FUNCTION(graphDestroy, cuGraphDestroy, (Handle graph))                                                                                   \
  FUNCTION(graphExecDestroy, cuGraphExecDestroy, (Handle executable))                                                                      \
  FUNCTION(eventCreate, cuEventCreate, (Handle * event, unsigned flags))                                                                   \
  FUNCTION(eventDestroy, cuEventDestroy_v2, (Handle event))                                                                                \
  FUNCTION(eventRecord, cuEventRecord, (Handle event, Handle stream))                                                                      \
  FUNCTION(eventQuery, cuEventQuery, (Handle event))                                                                                       \
  FUNCTION(eventElapsedTime, cuEventElapsedTime, (float *milliseconds, Handle begin, Handle end))                                          \
  FUNCTION(launchKernel, cuLaunchKernel,                                                                                                   \
           (Handle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,            \
            unsigned sharedBytes, Handle stream, void **parameters, void **extra))

struct Functions {
#define NPAR_CUDA_MEMBER(MEMBER, SYMBOL, PARAMETERS) Code(*MEMBER) PARAMETERS;
  NPAR_CUDA_FUNCTIONS(NPAR_CUDA_MEMBER)
#undef NPAR_CUDA_MEMBER
};

} // namespace npar::engine::cuda
