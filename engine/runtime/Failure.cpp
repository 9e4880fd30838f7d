// Collects the failures of a training step: the first cause, and where every other rank was at that time.
#include "engine/runtime/Failure.h"

namespace npar::engine {

namespace {
constexpr size_t listedRanks = 64;
} // namespace

Failure::Failure(const program::Program &program, const StepGraph &graph)
    : program(program), graph(graph), last(graph.ranks.size()), waiting(graph.ranks.size(), noIndex) {
  for (auto &node : last)
    node.store(noIndex);
}

bool Failure::raise(uint32_t node, const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed.load())
    return false;
  cause = status;
  causeNode = node;
  failed.store(true);
  return true;
}

void Failure::interrupted(uint32_t node) {
  std::lock_guard<std::mutex> lock(mutex);
  uint32_t &first = waiting[graph.nodes[node].local];
  if (first == noIndex || node < first)
    first = node;
}

Status Failure::reason() const {
  std::lock_guard<std::mutex> lock(mutex);
  if (causeNode == noIndex)
    return cause;
  return {cause.code(), describeNode(program, graph.nodes[causeNode]) + ": " + cause.message()};
}

Status Failure::report() const {
  Status why = reason();
  if (why.ok())
    return {};
  std::lock_guard<std::mutex> lock(mutex);
  std::string text = why.message();
  size_t listed = 0;
  for (size_t rank = 0; rank < waiting.size(); ++rank) {
    if (causeNode != noIndex && graph.nodes[causeNode].local == rank)
      continue;
    if (listed++ == listedRanks) {
      text += "\n  ... and " + std::to_string(waiting.size() - rank) + " more ranks";
      break;
    }
    uint32_t at = last[rank].load();
    if (waiting[rank] != noIndex)
      text += "\n  " + describeNode(program, graph.nodes[waiting[rank]]) + ": stopped while waiting";
    else if (at != noIndex)
      text += "\n  " + describeNode(program, graph.nodes[at]) + ": stopped after this step";
    else
      text += "\n  rank " + std::to_string(graph.ranks[rank].rank) + ": stopped before its first step";
  }
  return {why.code(), text};
}

} // namespace npar::engine
