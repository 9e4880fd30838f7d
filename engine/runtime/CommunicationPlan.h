// What a session tells its communicator before the first training step: groups, and the program's order of communication.
#pragma once

#include "engine/runtime/Operations.h"

namespace npar::engine {

/// Of the operations of a step graph, which must live as long as the plan is used. `sessionOf`: by rank of the world. `ordered`: the
/// operations come in the program's order (RankClass.communication_order), of which each session has its part; else in that of the nodes.
CommunicationPlan planCommunication(const program::Program &program, const StepGraph &graph, const Operations &operations,
                                    std::vector<uint32_t> sessionOf, bool ordered);

} // namespace npar::engine
