// The driver's calls that the stand-in answers, as cuda.h has them; each does what the driver's manual says, where README.md says nothing
// else.
#pragma once

#include "tests/engine/backends/standin/CudaAbi.h"

extern "C" {
npar::standin::Code cuGetErrorName(npar::standin::Code code, const char **text);
npar::standin::Code cuGetErrorString(npar::standin::Code code, const char **text);
npar::standin::Code cuInit(unsigned flags);
npar::standin::Code cuDriverGetVersion(int *version);
npar::standin::Code cuDeviceGetCount(int *count);
npar::standin::Code cuDeviceGet(npar::standin::DeviceNumber *number, int ordinal);
npar::standin::Code cuDeviceGetName(char *name, int size, npar::standin::DeviceNumber number);
npar::standin::Code cuDeviceGetAttribute(int *value, npar::standin::DeviceAttribute attribute, npar::standin::DeviceNumber number);
npar::standin::Code cuDeviceTotalMem_v2(size_t *bytes, npar::standin::DeviceNumber number);
npar::standin::Code cuDeviceGetUuid(npar::standin::Uuid *uuid, npar::standin::DeviceNumber number);
npar::standin::Code cuDeviceGetUuid_v2(npar::standin::Uuid *uuid, npar::standin::DeviceNumber number);
npar::standin::Code cuDeviceGetPCIBusId(char *text, int size, npar::standin::DeviceNumber number);
npar::standin::Code cuDeviceCanAccessPeer(int *can, npar::standin::DeviceNumber number, npar::standin::DeviceNumber other);
npar::standin::Code cuDevicePrimaryCtxRetain(npar::standin::Handle *context, npar::standin::DeviceNumber number);
npar::standin::Code cuDevicePrimaryCtxRelease_v2(npar::standin::DeviceNumber number);
npar::standin::Code cuDevicePrimaryCtxRelease(npar::standin::DeviceNumber number);
npar::standin::Code cuCtxSetCurrent(npar::standin::Handle context);
npar::standin::Code cuCtxGetCurrent(npar::standin::Handle *context);
npar::standin::Code cuCtxGetDevice(npar::standin::DeviceNumber *number);
npar::standin::Code cuCtxGetStreamPriorityRange(int *least, int *greatest);
npar::standin::Code cuCtxSynchronize();
npar::standin::Code cuCtxEnablePeerAccess(npar::standin::Handle peer, unsigned flags);
npar::standin::Code cuMemGetInfo_v2(size_t *free, size_t *total);
npar::standin::Code cuMemAlloc_v2(npar::standin::DevicePointer *result, size_t bytes);
npar::standin::Code cuMemFree_v2(npar::standin::DevicePointer address);
npar::standin::Code cuMemHostAlloc(void **result, size_t bytes, unsigned);
npar::standin::Code cuMemAllocHost_v2(void **result, size_t bytes);
npar::standin::Code cuMemFreeHost(void *begin);
npar::standin::Code cuMemHostRegister_v2(void *begin, size_t bytes, unsigned);
npar::standin::Code cuMemHostUnregister(void *begin);
npar::standin::Code cuMemHostGetDevicePointer_v2(npar::standin::DevicePointer *result, void *begin, unsigned flags);
npar::standin::Code cuMemcpyHtoDAsync_v2(npar::standin::DevicePointer target, const void *source, size_t bytes,
                                         npar::standin::Handle handle);
npar::standin::Code cuMemcpyDtoHAsync_v2(void *target, npar::standin::DevicePointer source, size_t bytes, npar::standin::Handle handle);
npar::standin::Code cuMemcpyDtoDAsync_v2(npar::standin::DevicePointer target, npar::standin::DevicePointer source, size_t bytes,
                                         npar::standin::Handle handle);
npar::standin::Code cuMemcpyPeerAsync(npar::standin::DevicePointer target, npar::standin::Handle targetContext,
                                      npar::standin::DevicePointer source, npar::standin::Handle sourceContext, size_t bytes,
                                      npar::standin::Handle handle);
npar::standin::Code cuMemsetD8Async(npar::standin::DevicePointer target, unsigned char element, size_t count, npar::standin::Handle stream);
npar::standin::Code cuMemsetD16Async(npar::standin::DevicePointer target, unsigned short element, size_t count,
                                     npar::standin::Handle stream);
npar::standin::Code cuMemsetD32Async(npar::standin::DevicePointer target, unsigned element, size_t count, npar::standin::Handle stream);
npar::standin::Code cuMemcpyHtoD_v2(npar::standin::DevicePointer, const void *, size_t);
npar::standin::Code cuMemcpyDtoH_v2(void *, npar::standin::DevicePointer, size_t);
npar::standin::Code cuMemcpyDtoD_v2(npar::standin::DevicePointer, npar::standin::DevicePointer, size_t);
npar::standin::Code cuStreamCreate(npar::standin::Handle *result, unsigned flags);
npar::standin::Code cuStreamCreateWithPriority(npar::standin::Handle *result, unsigned flags, int);
npar::standin::Code cuStreamDestroy_v2(npar::standin::Handle handle);
npar::standin::Code cuStreamQuery(npar::standin::Handle handle);
npar::standin::Code cuStreamSynchronize(npar::standin::Handle handle);
npar::standin::Code cuStreamWaitEvent(npar::standin::Handle handle, npar::standin::Handle eventHandle, unsigned flags);
npar::standin::Code cuStreamWriteValue32(npar::standin::Handle stream, npar::standin::DevicePointer address, uint32_t value,
                                         unsigned flags);
npar::standin::Code cuStreamWriteValue32_v2(npar::standin::Handle stream, npar::standin::DevicePointer address, uint32_t value,
                                            unsigned flags);
npar::standin::Code cuStreamWaitValue32(npar::standin::Handle stream, npar::standin::DevicePointer address, uint32_t value, unsigned flags);
npar::standin::Code cuStreamWaitValue32_v2(npar::standin::Handle stream, npar::standin::DevicePointer address, uint32_t value,
                                           unsigned flags);
npar::standin::Code cuEventCreate(npar::standin::Handle *result, unsigned flags);
npar::standin::Code cuEventDestroy_v2(npar::standin::Handle handle);
npar::standin::Code cuEventRecord(npar::standin::Handle handle, npar::standin::Handle streamHandle);
npar::standin::Code cuEventQuery(npar::standin::Handle handle);
npar::standin::Code cuEventSynchronize(npar::standin::Handle handle);
npar::standin::Code cuEventElapsedTime(float *milliseconds, npar::standin::Handle begin, npar::standin::Handle end);
npar::standin::Code cuEventElapsedTime_v2(float *milliseconds, npar::standin::Handle begin, npar::standin::Handle end);
npar::standin::Code cuStreamBeginCapture_v2(npar::standin::Handle stream, int mode);
npar::standin::Code cuStreamIsCapturing(npar::standin::Handle handle, npar::standin::CaptureStatus *status);
npar::standin::Code cuStreamEndCapture(npar::standin::Handle handle, npar::standin::Handle *result);
npar::standin::Code cuGraphInstantiateWithFlags(npar::standin::Handle *result, npar::standin::Handle handle, unsigned long long);
npar::standin::Code cuGraphUpload(npar::standin::Handle executable, npar::standin::Handle stream);
npar::standin::Code cuGraphLaunch(npar::standin::Handle handle, npar::standin::Handle streamHandle);
npar::standin::Code cuGraphExecDestroy(npar::standin::Handle handle);
npar::standin::Code cuGraphDestroy(npar::standin::Handle handle);
npar::standin::Code cuModuleLoadData(npar::standin::Handle *module, const void *image);
npar::standin::Code cuModuleLoadDataEx(npar::standin::Handle *module, const void *image, unsigned count, int *options, void **values);
npar::standin::Code cuModuleUnload(npar::standin::Handle module);
npar::standin::Code cuModuleGetFunction(npar::standin::Handle *function, npar::standin::Handle module, const char *name);
npar::standin::Code cuFuncGetAttribute(int *value, npar::standin::FunctionAttribute attribute, npar::standin::Handle function);
npar::standin::Code cuFuncSetAttribute(npar::standin::Handle function, npar::standin::FunctionAttribute attribute, int value);
npar::standin::Code cuLaunchKernel(npar::standin::Handle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, npar::standin::Handle stream, void **parameters,
                                   void **extra);
} // extern "C"
