// The words for result codes.
#include "tests/engine/backends/standin/CudaAbi.h"

namespace npar::standin {

namespace {
struct Words {
  Code code;
  const char *name, *explanation;
};

constexpr Words allWords[] = {
    {Code::Success, "CUDA_SUCCESS", "no error"},
    {Code::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Code::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Code::NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {Code::DeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {Code::NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {Code::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {Code::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {Code::EccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {Code::PeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {Code::InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {Code::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {Code::NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {Code::NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {Code::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {Code::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {Code::PeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {Code::HostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the memory range is already registered"},
    {Code::HostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {Code::MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {Code::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {Code::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {Code::StreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {Code::StreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {Code::StreamCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {Code::StreamCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {Code::StreamCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {Code::StreamCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {Code::CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {Code::StreamCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture from another thread"},
    {Code::Unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Words *find(Code code) {
  for (const Words &words : allWords)
    if (words.code == code)
      return &words;
  return nullptr;
}
} // namespace

const char *nameOf(Code code) {
  const Words *words = find(code);
  return words ? words->name : nullptr;
}

const char *explanationOf(Code code) {
  const Words *words = find(code);
  return words ? words->explanation : nullptr;
}

} // namespace npar::standin
