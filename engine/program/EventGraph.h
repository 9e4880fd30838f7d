// The merged event graph of a program over its classes: which step waits for which, and why. Deadlock.h explains what it proves.
#pragma once

#include "engine/program/FragmentWaits.h"
#include "engine/program/Program_generated.h"
#include "engine/program/ShortestCycle.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// Why a step waits for another one of the same rank.
enum class WaitReason : uint8_t {
  Dependency,     ///< Step's dependencies: data, or memory that is reused within a task
  TaskDependency, ///< RankClass.task_dependencies: memory that is reused by another task
  ComputeChain,   ///< all steps except Send, Receive and free collectives wait for those of the previous task, unless the two overlap
  CommunicationOrder
};

/// Selects the steps that have nodes.
enum class GraphSteps : uint8_t {
  All,    ///< each step: to explain a cycle
  Meeting ///< steps that join tasks or ranks, with the waits between them as edges: cyclic if and only if the full graph is, and much
          ///< smaller
};

class EventGraph {
public:
  /// A step of a task of a class, or a joint node for what many steps wait for, which adds nothing to a cycle's length. Joint nodes are the
  /// end of the compute steps of a task and of those before it (`step` == number of steps) and, if all steps have nodes, a place in the
  /// communication order with all before it (`task` == `orderPlace`).
  struct Node {
    uint32_t rankClass, task, step;
  };
  /// Within one rank: `to` waits for `from`.
  struct Edge {
    uint32_t from, to;
    WaitReason reason;
  };

  /// Without `withCommunicationOrder`, edges of the communication order are left out, for an order yet to be chosen. `checkStructure` must
  /// have passed.
  EventGraph(const Program &program, GraphSteps steps, bool withCommunicationOrder);

  const Program &program;
  std::vector<Node> nodes;
  std::vector<uint32_t> events;     ///< by node: the node that stands for its communication event; else itself
  std::vector<uint32_t> nextMember; ///< by node: another member of its event, in a ring
  Digraph merged;                   ///< between the nodes that stand for their event
  std::vector<Edge> edges;          ///< by place in merged.heads; only where all steps have nodes

  static constexpr uint32_t orderPlace = ~0u;
  bool isStep(uint32_t node) const { return nodes[node].task != orderPlace && nodes[node].step < fragmentOf(node).steps()->size(); }
  bool isCommunication(uint32_t node) const;
  /// The fragment that the node's task runs; the node must belong to a task.
  const Fragment &fragmentOf(uint32_t node) const;
  /// The step that the node stands for; it must stand for one.
  const Step &stepOf(uint32_t node) const { return *fragmentOf(node).steps()->Get(nodes[node].step); }
  const Task &taskOf(uint32_t node) const;

  bool isAcyclic() const;
  /// Events and steps in topological order, of those that are free the earliest planned first; those on or after a cycle are missing.
  std::vector<uint32_t> sort() const;
  /// Number of nodes that stand for an event, or are not part of one.
  size_t eventCount() const;
  /// The nodes that stand for communication events, the earliest planned first. Every cycle holds one: all other edges go from an
  /// earlier task or step of a class to a later one.
  std::vector<uint32_t> communicationEvents() const;

private:
  const GraphSteps steps;
  std::vector<std::vector<FragmentWaits>> waits; ///< [class][fragment]
  std::vector<std::vector<uint32_t>> first;      ///< [class][task]: node of its first step that has one
  uint32_t firstPlace = 0;                       ///< node of the first place in an order of communication
  void number();
  void merge();
  void addOrderPlaces();
  void connect(bool withCommunicationOrder);
  template <typename Visit> void forEachEdge(bool withCommunicationOrder, Visit visit) const;
  uint32_t nodeOf(uint32_t rankClass, uint32_t task, uint32_t step) const;
  const FragmentWaits &waitsOf(uint32_t rankClass, uint32_t task) const;
  std::vector<uint32_t> incoming() const;
  std::vector<double> begins() const;
};

} // namespace npar::program
