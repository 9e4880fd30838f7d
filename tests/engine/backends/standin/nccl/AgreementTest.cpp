// The numbers of the stand-in for NCCL are those of nccl.h, where that is installed.
#include "tests/engine/backends/standin/nccl/Communicator.h"

#include <nccl.h>

using npar::standin::nccl::Result;

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME(Result::Success, ncclSuccess);
SAME(Result::UnhandledCudaError, ncclUnhandledCudaError);
SAME(Result::SystemError, ncclSystemError);
SAME(Result::InternalError, ncclInternalError);
SAME(Result::InvalidArgument, ncclInvalidArgument);
SAME(Result::InvalidUsage, ncclInvalidUsage);
SAME(Result::RemoteError, ncclRemoteError);
SAME(Result::InProgress, ncclInProgress);
SAME(0, ncclInt8);
SAME(1, ncclUint8);
SAME(128, sizeof(ncclUniqueId));
