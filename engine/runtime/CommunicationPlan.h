// Builds the plan that a session gives its communicator before the first training step: groups, and the program's order of communication.
#pragma once

#include "engine/runtime/Operations.h"

namespace npar::engine {

/// The plan for the operations of a step graph, which must live as long as the plan is used. `sessionOf`: by rank of the world. `ordered`:
/// the operations follow the program's order (RankClass.communication_order), of which each session has its part; otherwise they follow the
/// order of the nodes.
CommunicationPlan planCommunication(const program::Program &program, const StepGraph &graph, const Operations &operations,
                                    std::vector<uint32_t> sessionOf, bool ordered);

} // namespace npar::engine
