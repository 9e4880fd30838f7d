// The numbers of the stand-in for NCCL are those of nccl.h, where that is installed.
#include "tests/engine/backends/standin/nccl/Communicator.h"

#include <nccl.h>

using npar::standin::nccl::Result;
using npar::standin::nccl::Type;

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME(Result::Success, ncclSuccess);
SAME(Result::UnhandledCudaError, ncclUnhandledCudaError);
SAME(Result::SystemError, ncclSystemError);
SAME(Result::InternalError, ncclInternalError);
SAME(Result::InvalidArgument, ncclInvalidArgument);
SAME(Result::InvalidUsage, ncclInvalidUsage);
SAME(Result::RemoteError, ncclRemoteError);
SAME(Result::InProgress, ncclInProgress);
SAME(Type::Int8, ncclInt8);
SAME(Type::Uint8, ncclUint8);
SAME(Type::Float16, ncclFloat16);
SAME(Type::Float32, ncclFloat32);
SAME(Type::Float64, ncclFloat64);
SAME(Type::BFloat16, ncclBfloat16);
SAME(0, ncclSum);
SAME(-1, NCCL_SPLIT_NOCOLOR);
SAME(128, sizeof(ncclUniqueId));
