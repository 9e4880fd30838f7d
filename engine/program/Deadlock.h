// The merged event graph of a program: it proves that no buffering, no network and no number of workers can make the ranks wait in a
// circle.
//
// Nodes: step instances; the members of one communication event (collective; send with its receive) are one node. Edges: data and memory
// reuse (dependencies), the compute chain from task to task, task dependencies, and each rank's communication order. The graph has one
// copy per class, not per rank: all ranks of a class run the same steps and every event joins whole groups, so each edge of this graph
// exists at every rank of the class, and a cycle here lifts to a cycle among ranks and the other way round.
#pragma once

#include "engine/program/Program_generated.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::program {

/// Empty when the graph is acyclic, else the shortest cycle found, step by step with ranks, labels and source places.
/// Without `withCommunicationOrder`, that of an order yet to be chosen is left out.
std::string findDeadlock(const Program &program, bool withCommunicationOrder = true);

/// One global order of all communication, restricted per class: a topological order of the graph without communication order that
/// follows planned begin times where it may. Nothing when the graph has a cycle.
std::optional<std::vector<std::vector<CommunicationRef>>> orderCommunication(const Program &program);

} // namespace npar::program
