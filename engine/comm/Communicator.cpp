// The words for what ranks do together.
#include "engine/comm/Communicator.h"

namespace npar::engine {

const char *nameOf(OperationKind kind) {
  switch (kind) {
  case OperationKind::AllReduce:
    return "all_reduce";
  case OperationKind::AllGather:
    return "all_gather";
  case OperationKind::ReduceScatter:
    return "reduce_scatter";
  case OperationKind::AllToAll:
    return "all_to_all";
  case OperationKind::Permute:
    return "permute";
  case OperationKind::Send:
    return "send";
  case OperationKind::Receive:
    return "recv";
  }
  return "?"; // only for a number that is no kind
}

} // namespace npar::engine
