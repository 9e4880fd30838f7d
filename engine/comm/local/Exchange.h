// The data movement of an operation whose members' buffers all lie in this session's memory.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

namespace npar::engine {

/// Empty, or how two members' parts disagree.
std::string disagreement(const Operation &left, const Operation &right);

/// Starts to move the data of all members (in member order; Send first, then Receive), which agree with each other. A member of another
/// session has a copy of its input here and no output.
void moveData(Backend &backend, const std::vector<Operation> &members);

} // namespace npar::engine
