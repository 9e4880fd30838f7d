// A driver that has no GPU and takes every kernel's code: what cuDNN asks for while it makes plans for a GPU that is not there.
#include <cstdint>

#define NPAR_NO_DRIVER_CALL extern "C" __attribute__((visibility("default")))
/// Defines a call that is never made without a GPU but must exist. It returns that there is no device.
#define NPAR_NO_DRIVER_ABSENT(NAME)                                                                                                        \
  NPAR_NO_DRIVER_CALL int NAME() { return 100; }

NPAR_NO_DRIVER_ABSENT(cuInit)
NPAR_NO_DRIVER_ABSENT(cuCtxGetCurrent)
NPAR_NO_DRIVER_ABSENT(cuCtxGetLimit)
NPAR_NO_DRIVER_ABSENT(cuCtxPopCurrent)
NPAR_NO_DRIVER_ABSENT(cuCtxPushCurrent)
NPAR_NO_DRIVER_ABSENT(cuDeviceGet)
NPAR_NO_DRIVER_ABSENT(cuLaunchCooperativeKernel)
NPAR_NO_DRIVER_ABSENT(cuLaunchKernel)
NPAR_NO_DRIVER_ABSENT(cuLaunchKernelEx)
NPAR_NO_DRIVER_ABSENT(cuLibraryLoadFromFile)
NPAR_NO_DRIVER_ABSENT(cuLinkAddData)
NPAR_NO_DRIVER_ABSENT(cuLinkComplete)
NPAR_NO_DRIVER_ABSENT(cuLinkCreate)
NPAR_NO_DRIVER_ABSENT(cuLinkDestroy)
NPAR_NO_DRIVER_ABSENT(cuStreamGetCtx)

namespace {
int give(int *place, int value) {
  *place = value;
  return 0;
}
int give(void **place) {
  *place = reinterpret_cast<void *>(uintptr_t{16});
  return 0;
}
} // namespace

NPAR_NO_DRIVER_CALL int cuDriverGetVersion(int *version) { return give(version, 13000); }
NPAR_NO_DRIVER_CALL int cuDeviceGetCount(int *count) { return give(count, 0); }
NPAR_NO_DRIVER_CALL int cuGetErrorName(int, const char **text) { return *text = "an error", 0; }
NPAR_NO_DRIVER_CALL int cuGetErrorString(int, const char **text) { return *text = "an error", 0; }
NPAR_NO_DRIVER_CALL int cuLibraryLoadData(void **library) { return give(library); }
NPAR_NO_DRIVER_CALL int cuLibraryGetKernel(void **kernel) { return give(kernel); }
NPAR_NO_DRIVER_CALL int cuLibraryUnload() { return 0; }
NPAR_NO_DRIVER_CALL int cuKernelGetAttribute(int *value) { return give(value, 0); }
NPAR_NO_DRIVER_CALL int cuKernelSetAttribute() { return 0; }
NPAR_NO_DRIVER_CALL int cuOccupancyMaxPotentialClusterSize(int *size) { return give(size, 8); }
