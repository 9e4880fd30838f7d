// The merged event graph of a program: it proves that no buffering, no network and no number of workers can make the ranks wait in a
// cycle. README.md argues why it proves that, and why classes are enough.
//
// Nodes: step instances; the members of one communication event (collective; send with its receive) are one node. Edges: data and memory
// reuse (dependencies), the compute chain from task to task, task dependencies, and each rank's communication order. The graph has one
// copy per class, not per rank.
#pragma once

#include "engine/program/Program_generated.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::program {

/// Empty when the graph is acyclic, otherwise the text of a cycle with the fewest steps (members of one event count once). The first line
/// has the number of steps and the ranks; each further line has the rank, task, step, label and source place of a step and why it waits for
/// the next.
/// Without `withCommunicationOrder`, the communication order, which has yet to be chosen, adds no edges. Events should be complete
/// (`checkTransfers`, `checkCollectives`): a missing member makes no cycle.
std::string findDeadlock(const Program &program, bool withCommunicationOrder = true);

/// One global order of all communication, restricted per class: a topological order of the graph without communication order that
/// follows planned begin times where it may. Nothing when the graph has a cycle.
std::optional<std::vector<std::vector<CommunicationRef>>> orderCommunication(const Program &program);

} // namespace npar::program
