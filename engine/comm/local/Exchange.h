// The data movement of a collective whose members' buffers all lie in this process.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

namespace npar::engine {

/// Empty, or how two members' parts disagree.
std::string disagreement(const Operation &left, const Operation &right);

/// Moves the data of all members (in member order; Send first, then Receive), which agree with each other.
void moveData(Backend &backend, const std::vector<Operation> &members);

} // namespace npar::engine
