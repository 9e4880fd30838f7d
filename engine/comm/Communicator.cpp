// The words for what ranks do together.
#include "engine/comm/Communicator.h"

#include "engine/program/Words.h"

namespace npar::engine {

const char *nameOf(OperationKind kind) {
  switch (kind) {
  case OperationKind::AllReduce:
    return wordOf(program::CollectiveKind::AllReduce);
  case OperationKind::AllGather:
    return wordOf(program::CollectiveKind::AllGather);
  case OperationKind::ReduceScatter:
    return wordOf(program::CollectiveKind::ReduceScatter);
  case OperationKind::AllToAll:
    return wordOf(program::CollectiveKind::AllToAll);
  case OperationKind::Permute:
    return wordOf(program::CollectiveKind::Permute);
  case OperationKind::Send:
    return "send";
  case OperationKind::Receive:
    break;
  }
  return "recv";
}

} // namespace npar::engine
