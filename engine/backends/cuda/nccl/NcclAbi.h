// The part of NCCL's binary interface that npar calls, so that neither a header nor a library of it is needed to build.
#pragma once

#include <cstddef>

namespace npar::engine::cuda {

/// ncclResult_t, as far as npar tells results apart.
enum class NcclCode : int { Success = 0, InProgress = 7 };

/// ncclUniqueId.
struct NcclJob {
  char bytes[128];
};

/// ncclConfig_t as it was in NCCL 2.14: `version` tells later libraries that what they have added is not there.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
};

constexpr int ncclBytes = 1; ///< ncclUint8
/// ncclDataType_t of what is added up, and ncclRedOp_t.
enum class NcclType : int { F16 = 6, F32 = 7, F64 = 8, BF16 = 9 };
constexpr int ncclAdds = 0;          ///< ncclSum
constexpr int ncclWithoutGroup = -1; ///< NCCL_SPLIT_NOCOLOR

/// FUNCTION(member of the table, symbol of the library, result, parameters). Handles are never followed.
#define NPAR_NCCL_FUNCTIONS(FUNCTION)                                                                                                      \
  FUNCTION(getVersion, ncclGetVersion, NcclCode, (int *version))                                                                           \
  FUNCTION(getErrorString, ncclGetErrorString, const char *, (NcclCode code))                                                              \
  FUNCTION(getLastError, ncclGetLastError, const char *, (void *communicator))                                                             \
  FUNCTION(getUniqueId, ncclGetUniqueId, NcclCode, (NcclJob * job))                                                                        \
  FUNCTION(initRank, ncclCommInitRankConfig, NcclCode, (void **communicator, int processes, NcclJob job, int process, NcclConfig *config)) \
  FUNCTION(getAsyncError, ncclCommGetAsyncError, NcclCode, (void *communicator, NcclCode *error))                                          \
  FUNCTION(finalize, ncclCommFinalize, NcclCode, (void *communicator))                                                                     \
  FUNCTION(destroy, ncclCommDestroy, NcclCode, (void *communicator))                                                                       \
  FUNCTION(abort, ncclCommAbort, NcclCode, (void *communicator))                                                                           \
  FUNCTION(groupStart, ncclGroupStart, NcclCode, ())                                                                                       \
  FUNCTION(groupEnd, ncclGroupEnd, NcclCode, ())                                                                                           \
  FUNCTION(send, ncclSend, NcclCode, (const void *memory, size_t count, int type, int peer, void *communicator, void *stream))             \
  FUNCTION(receive, ncclRecv, NcclCode, (void *memory, size_t count, int type, int peer, void *communicator, void *stream))                \
  FUNCTION(split, ncclCommSplit, NcclCode, (void *communicator, int colour, int key, void **made, NcclConfig *config))                     \
  FUNCTION(allReduce, ncclAllReduce, NcclCode,                                                                                             \
           (const void *input, void *output, size_t count, int type, int operation, void *communicator, void *stream))                     \
  FUNCTION(reduceScatter, ncclReduceScatter, NcclCode,                                                                                     \
           (const void *input, void *output, size_t count, int type, int operation, void *communicator, void *stream))                     \
  FUNCTION(allGather, ncclAllGather, NcclCode, (const void *input, void *output, size_t count, int type, void *communicator, void *stream))

struct NcclFunctions {
#define NPAR_NCCL_MEMBER(MEMBER, SYMBOL, RESULT, PARAMETERS) RESULT(*MEMBER) PARAMETERS;
  NPAR_NCCL_FUNCTIONS(NPAR_NCCL_MEMBER)
#undef NPAR_NCCL_MEMBER
};

} // namespace npar::engine::cuda
