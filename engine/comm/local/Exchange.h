// Moves the data of an operation whose members' buffers are all in this session's memory.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

namespace npar::engine {

/// The disagreement between two members' parts, in words; empty when they agree.
std::string disagreement(const Operation &left, const Operation &right);

/// Starts to move the data of all members (in member order; Send first, then Receive), which agree with each other. A member of another
/// session has a copy of its input here, no ends and no output. Fails if the ends of existing rows are damaged.
Status moveData(Backend &backend, const std::vector<Operation> &members);

} // namespace npar::engine
