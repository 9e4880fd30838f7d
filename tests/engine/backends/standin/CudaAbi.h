// The part of the CUDA driver's binary interface that the stand-in has: handles, numbers and result codes, so that no CUDA header is
// needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npar::standin {

/// CUresult.
enum class Code : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidContext = 201,
  EccUncorrectable = 214,
  PeerAccessUnsupported = 217,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  PeerAccessAlreadyEnabled = 704,
  HostMemoryAlreadyRegistered = 712,
  HostMemoryNotRegistered = 713,
  MisalignedAddress = 716,
  LaunchFailed = 719,
  NotSupported = 801,
  StreamCaptureUnsupported = 900,
  StreamCaptureInvalidated = 901,
  StreamCaptureMerge = 902,
  StreamCaptureUnmatched = 903,
  StreamCaptureUnjoined = 904,
  StreamCaptureIsolation = 905,
  CapturedEvent = 907,
  StreamCaptureWrongThread = 908,
  Unknown = 999,
};

using DevicePointer = unsigned long long; ///< CUdeviceptr
using DeviceNumber = int;                 ///< CUdevice
using Handle = void *; ///< CUcontext, CUmodule, CUfunction, CUstream, CUevent, CUgraph, CUgraphExec: never dereferenced, never used twice

constexpr uintptr_t legacyStream = 1, perThreadStream = 2; ///< CU_STREAM_LEGACY, CU_STREAM_PER_THREAD

/// CUdevice_attribute.
enum class DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxBlockDimX = 2,
  MaxBlockDimY = 3,
  MaxBlockDimZ = 4,
  MaxGridDimX = 5,
  MaxGridDimY = 6,
  MaxGridDimZ = 7,
  MaxSharedPerBlock = 8,
  TotalConstantMemory = 9,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRate = 13,
  MultiprocessorCount = 16,
  Integrated = 18,
  CanMapHostMemory = 19,
  ComputeMode = 20,
  ConcurrentKernels = 31,
  EccEnabled = 32,
  PciBusId = 33,
  PciDeviceId = 34,
  MemoryClockRate = 36,
  GlobalMemoryBusWidth = 37,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  AsyncEngineCount = 40,
  UnifiedAddressing = 41,
  PciDomainId = 50,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  StreamPrioritiesSupported = 78,
  MaxSharedPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  ManagedMemory = 83,
  PageableMemoryAccess = 88,
  CanUseHostPointer = 91,
  CooperativeLaunch = 95,
  MaxSharedPerBlockOptin = 97,
  MemoryPoolsSupported = 115,
};

/// CUfunction_attribute.
enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedBytes = 1,
  ConstantBytes = 2,
  LocalBytes = 3,
  Registers = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  CacheModeCa = 7,
  MaxDynamicSharedBytes = 8,
  PreferredSharedCarveout = 9,
};

/// CUjit_option, as far as it is read; other options are passed over.
enum class JitOption : int { InfoLogBuffer = 3, InfoLogBufferBytes = 4, ErrorLogBuffer = 5, ErrorLogBufferBytes = 6 };

constexpr unsigned eventDisableTiming = 2; ///< CU_EVENT_DISABLE_TIMING
constexpr unsigned streamNonBlocking = 1;  ///< CU_STREAM_NON_BLOCKING

enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };    ///< CUstreamCaptureMode
enum class CaptureStatus : int { None = 0, Active = 1, Invalidated = 2 };     ///< CUstreamCaptureStatus
enum class WaitValue : unsigned { AtLeast = 0, Equal = 1, And = 2, Nor = 3 }; ///< CUstreamWaitValue_flags

struct Uuid { ///< CUuuid
  char bytes[16];
};

/// The name, "CUDA_ERROR_...", and what it means; null for a code that is not here.
const char *nameOf(Code code);
const char *explanationOf(Code code);

} // namespace npar::standin
