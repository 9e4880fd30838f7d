// Sorts the merged event graph; where that fails, explains a smallest cycle step by step.
#include "engine/program/Deadlock.h"

#include "engine/program/Checks.h"
#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/program/EventGraph.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace npar::program {
namespace {

/// `waiter` waits for `awaited`, another step of the same class.
struct Wait {
  uint32_t waiter, awaited;
  WaitReason reason;
};

class Explanation {
public:
  Explanation(const EventGraph &graph, const std::vector<uint32_t> &cycle) : graph(graph), program(graph.program) {
    // Against the edges, from each step to the one that it waits for; what passes through task ends or places of an order is one
    // wait. The cycle begins at a communication event.
    for (size_t i = cycle.size(); i-- > 0;) {
      const EventGraph::Edge &edge = graph.edges[cycle[i]];
      if (!waits.empty() && !graph.isStep(waits.back().awaited))
        waits.back().awaited = edge.from;
      else
        waits.push_back({edge.to, edge.from, edge.reason});
    }
    // Begin at the lowest step that another rank waits for.
    auto key = [&](const Wait &wait, const Wait &before) {
      const EventGraph::Node &node = graph.nodes[wait.waiter];
      return std::make_tuple(wait.waiter == before.awaited, node.rankClass, node.task, node.step);
    };
    size_t first = 0;
    for (size_t i = 1; i < waits.size(); ++i)
      if (key(waits[i], waits[i - 1]) < key(waits[first], first ? waits[first - 1] : waits.back()))
        first = i;
    std::rotate(waits.begin(), waits.begin() + first, waits.end());
  }

  std::string text() const {
    std::string text = headline();
    for (size_t i = 0; i < waits.size(); ++i) {
      const Wait &wait = waits[i], &before = waits[(i + waits.size() - 1) % waits.size()];
      if (i == 0 || wait.waiter != before.awaited)
        text += "\n  " + (i == 0 ? "" : peerOf(before.awaited) + ", ") + describeExampleRank(program, classOf(wait.waiter)) + ": " +
                place(wait.waiter);
      text += "\n    waits for " + place(wait.awaited) + ", " + reason(wait);
    }
    if (waits.back().awaited != waits.front().waiter)
      text += "\n  which waits for " + peerOf(waits.back().awaited) + ", the first step of this list";
    else
      text += "\n  which is the first step of this list";
    return text;
  }

private:
  const EventGraph &graph;
  const Program &program;
  std::vector<Wait> waits;

  const RankClass &classOf(uint32_t node) const { return *program.classes()->Get(graph.nodes[node].rankClass); }
  std::string place(uint32_t node) const { return describePlace(program, classOf(node), graph.nodes[node].task, graph.nodes[node].step); }

  std::string headline() const {
    std::set<uint32_t> classes;
    std::string ranks;
    for (const Wait &wait : waits)
      if (classes.insert(graph.nodes[wait.waiter].rankClass).second) {
        std::vector<int64_t> coordinates;
        for (uint32_t axis = 0; axis < program.mesh()->size(); ++axis)
          coordinates.push_back(std::max<int64_t>(0, fixedCoordinate(classOf(wait.waiter), axis)));
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(rankAt(program, coordinates));
      }
    std::string text =
        waits.size() == 1 ? "1 step waits for itself on rank" : std::to_string(waits.size()) + " steps wait for each other on rank";
    text += (classes.size() > 1 ? "s " : " ") + ranks;
    int64_t copies = worldOf(program) / program.classes()->size();
    if (copies > 1)
      text += " (and also on " + std::to_string(copies - 1) + " more such set" + (copies > 2 ? "s" : "") + " of ranks)";
    return text + ":";
  }

  /// The words by which a member of an event refers to the others.
  std::string peerOf(uint32_t node) const {
    switch (graph.stepOf(node).kind()) {
    case StepKind::Send:
      return "its receiver";
    case StepKind::Receive:
      return "its sender";
    case StepKind::Collective:
    case StepKind::Kernel:
    case StepKind::Matmul:
    case StepKind::Zero:
    case StepKind::Copy:
    case StepKind::Attention:
      break;
    }
    return "a member of its group";
  }

  struct Bytes {
    uint64_t begin, end;
    bool write;
  };
  std::vector<Bytes> bytesOf(uint32_t node) const {
    std::vector<Bytes> result;
    const Step &step = graph.stepOf(node);
    for (uint32_t i = 0; i < uint32_t(step.inputs()) + step.outputs(); ++i) {
      const Operand *operand = graph.fragmentOf(node).operands()->Get(step.first_operand() + i);
      uint64_t begin = classOf(node).bases()->Get(graph.taskOf(node).first_base() + operand->region()) + operand->offset();
      result.push_back({begin, begin + operand->bytes(), i >= step.inputs()});
    }
    return result;
  }

  std::string reason(const Wait &wait) const {
    if (wait.reason == WaitReason::CommunicationOrder)
      return "which comes first in this rank's order of communication";
    if (wait.reason == WaitReason::ComputeChain)
      return "a step of an earlier task";
    bool shared = false;
    for (const Bytes &made : bytesOf(wait.awaited))
      for (const Bytes &used : bytesOf(wait.waiter))
        if (made.begin < used.end && used.begin < made.end) {
          if (made.write && !used.write)
            return "whose result it reads";
          shared = true;
        }
    return shared ? "whose memory it uses again" : "on which it depends";
  }
};

} // namespace

std::string findDeadlock(const Program &program, bool withCommunicationOrder) {
  if (EventGraph(program, GraphSteps::Meeting, withCommunicationOrder).isAcyclic())
    return "";
  EventGraph graph(program, GraphSteps::All, withCommunicationOrder);
  return Explanation(graph, shortestCycle(graph.merged, graph.communicationEvents())).text();
}

std::string checkDeadlock(const Program &program) { return findDeadlock(program); }

std::optional<std::vector<std::vector<CommunicationRef>>> orderCommunication(const Program &program) {
  EventGraph graph(program, GraphSteps::Meeting, /*withCommunicationOrder=*/false);
  std::vector<uint32_t> sorted = graph.sort();
  if (sorted.size() != graph.eventCount())
    return std::nullopt;
  std::vector<std::vector<CommunicationRef>> orders(program.classes()->size());
  for (uint32_t node : sorted) {
    if (!graph.isCommunication(node))
      continue;
    // Members in the order of their classes; the one that stands for the event has the lowest number.
    std::vector<uint32_t> members = {node};
    for (uint32_t member = graph.nextMember[node]; member != node; member = graph.nextMember[member])
      members.push_back(member);
    std::sort(members.begin(), members.end());
    for (uint32_t member : members)
      orders[graph.nodes[member].rankClass].emplace_back(graph.nodes[member].task, graph.nodes[member].step);
  }
  return orders;
}

} // namespace npar::program
