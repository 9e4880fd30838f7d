// Follows the ranks of one session step by step.
#include "engine/control/SessionWatch.h"

#include "engine/program/Classes.h"
#include "engine/program/Describe.h"

#include <algorithm>
#include <map>

namespace npar::engine {

void SessionWatch::opened(const program::Program &program, const StepGraph &graph, const Operations &operations,
                          const Communicator &communicator) {
  std::lock_guard<std::mutex> lock(mutex);
  this->program = &program, this->graph = &graph, this->operations = &operations, this->communicator = &communicator;
  moves = std::make_unique<Rank[]>(graph.ranks.size());
  marks = std::make_unique<std::atomic<uint32_t>[]>(graph.nodes.size());
  trainingStep = -1, round = -1, inStep = false, failedNode = noIndex, failing = false, atFailure.reset();
  if (record)
    recording = record->open(program, graph, operations, session);
}

void SessionWatch::closed() {
  std::lock_guard<std::mutex> lock(mutex);
  program = nullptr, graph = nullptr, operations = nullptr, communicator = nullptr;
}

void SessionWatch::stepBegan(int64_t step) {
  trainingStep = step, round = rounds->last.fetch_add(1) + 1, inStep = true;
  rounds->session = session;
  noteAll(FlightEvent::StepBegan);
}

void SessionWatch::stepEnded() {
  inStep = false;
  noteAll(FlightEvent::StepEnded);
}

void SessionWatch::noteAll(FlightEvent event) {
  for (uint32_t local = 0; record && local < graph->ranks.size(); ++local)
    record->note({session, local, noIndex, round.load(), trainingStep.load(), event});
}

void SessionWatch::moved(uint32_t node, bool done) {
  uint32_t local = graph->nodes[node].local;
  Rank &rank = moves[local];
  if (!done)
    rank.last.store(node, std::memory_order_relaxed);
  rank.moves.fetch_add(1, std::memory_order_relaxed);
  marks[node].store(markOf(done), std::memory_order_relaxed);
  if (record)
    record->note({session, local, node, round.load(std::memory_order_relaxed), trainingStep.load(std::memory_order_relaxed),
                  done ? FlightEvent::Ended : FlightEvent::Began});
}

void SessionWatch::failed(uint32_t node) {
  failedNode = node, failing = true;
  {
    std::lock_guard<std::mutex> lock(mutex);
    atFailure = lookNow(true);
  }
  if (record && node != noIndex)
    record->note({session, graph->nodes[node].local, node, round.load(), trainingStep.load(), FlightEvent::Failed});
}

Status SessionWatch::recordStatus() const {
  std::lock_guard<std::mutex> lock(mutex);
  return recording;
}

uint64_t SessionWatch::progress() const {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t sum = 0;
  for (size_t local = 0; graph && local < graph->ranks.size(); ++local)
    sum += moves[local].moves.load(std::memory_order_relaxed);
  return sum;
}

std::vector<int64_t> SessionWatch::ranks() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<int64_t> ranks;
  for (size_t local = 0; graph && local < graph->ranks.size(); ++local)
    ranks.push_back(graph->ranks[local].rank);
  return ranks;
}

Place SessionWatch::placeOf(uint32_t index) const {
  const StepNode &node = graph->nodes[index];
  Place place;
  place.rank = node.rank, place.trainingStep = trainingStep.load(), place.micro = node.micro;
  place.round = round.load(), place.evaluates = program->kind() != program::ProgramKind::Training;
  place.task = program::describeTask(*program->classes()->Get(program::classOf(*program, node.rank)), node.task);
  if (node.joins())
    return place;
  const program::Label &label = *program->labels()->Get(node.label);
  place.operation = label.text()->str();
  if (const program::SourcePlace *source = label.source())
    place.source = source->file()->str() + ":" + std::to_string(source->line()) + ":" + std::to_string(source->column());
  return place;
}

MeetingPlace SessionWatch::meetingOf(uint32_t node) const {
  const Operation &operation = operations->at(node);
  return {round.load(),    operation.transfers(),  operation.event,
          operation.micro, operation.members[0], operation.members[operation.memberCount - 1],
          session};
}

ProcessState SessionWatch::look(bool waits) const {
  std::lock_guard<std::mutex> lock(mutex);
  if (!graph)
    return {};
  return atFailure ? *atFailure : lookNow(waits);
}

ProcessState SessionWatch::lookNow(bool waits) const {
  constexpr uint32_t fewRanks = 8;
  ProcessState state;
  std::map<int64_t, std::vector<PendingOperation>> pending;
  if (waits)
    for (PendingOperation &operation : communicator->pending())
      pending[operation.rank].push_back(std::move(operation));
  for (uint32_t local = 0; local < graph->ranks.size(); ++local) {
    state.progress += moves[local].moves.load(std::memory_order_relaxed);
    if (!waits && local >= fewRanks)
      continue;
    RankState &rank = state.ranks.emplace_back();
    uint32_t last = moves[local].last.load(std::memory_order_relaxed);
    if (last != noIndex)
      rank.place = placeOf(last);
    rank.place.rank = graph->ranks[local].rank;
    rank.place.trainingStep = trainingStep.load(), rank.place.round = round.load();
    rank.place.evaluates = program->kind() != program::ProgramKind::Training;
    rank.inStep = inStep.load();
    if (waits)
      addWaits(rank, local, std::move(pending[rank.place.rank]));
  }
  return state;
}

/// Adds the operations that the communicator knows, and those that it does not although they were posted, in program order.
void SessionWatch::addWaits(RankState &rank, uint32_t local, std::vector<PendingOperation> pending) const {
  std::map<uint32_t, Wait> waits;
  for (PendingOperation &operation : pending) {
    auto node = static_cast<uint32_t>(operation.tag);
    waits[node] = {placeOf(node), meetingOf(node), std::move(operation.missing), false};
  }
  for (uint32_t node = 0; node < graph->nodes.size() && rank.inStep; ++node)
    if (graph->nodes[node].local == local && graph->nodes[node].communicates() && marks[node].load() == markOf(false) && !waits.count(node))
      waits[node] = {placeOf(node), meetingOf(node), {}, true};
  for (auto &[node, wait] : waits)
    rank.waits.push_back(std::move(wait));
}

Joined SessionWatch::joined(const Question &question) const {
  std::lock_guard<std::mutex> lock(mutex);
  for (uint32_t node = 0; graph && node < graph->nodes.size(); ++node) {
    if (graph->nodes[node].rank != question.rank || !graph->nodes[node].communicates())
      continue;
    MeetingPlace meeting = meetingOf(node);
    meeting.round = question.meeting.round;
    if (!(meeting == question.meeting))
      continue;
    if (int64_t now = rounds->last.load(); now != question.meeting.round)
      return now > question.meeting.round ? Joined::Done : Joined::NotYet;
    uint32_t mark = marks[node].load();
    return mark == markOf(true) ? Joined::Done : mark == markOf(false) ? Joined::Posted : Joined::NotYet;
  }
  return Joined::Unknown;
}

Place SessionWatch::failedPlace() const {
  std::lock_guard<std::mutex> lock(mutex);
  uint32_t node = failedNode.load();
  return graph && node != noIndex ? placeOf(node) : Place();
}

} // namespace npar::engine
