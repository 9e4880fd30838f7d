// The words for what ranks do together.
#include "engine/comm/Communicator.h"

#include "engine/program/Words.h"

namespace npar::engine {

const char *nameOf(const Operation &operation) { return operation.transfers() ? wordOf(operation.step) : wordOf(operation.kind); }

} // namespace npar::engine
