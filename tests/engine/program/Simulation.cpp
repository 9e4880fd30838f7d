// Polls the steps of all ranks in random order until nothing moves.
#include "tests/engine/program/Simulation.h"

#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace npar::program {
namespace {

bool isTransfer(StepKind kind) { return kind == StepKind::Send || kind == StepKind::Receive; }

/// Who meets: collective or not, event, micro-batch, ranks.
using Meeting = std::tuple<bool, uint32_t, uint32_t, std::vector<int64_t>>;

struct Member {
  int64_t rank;
  uint32_t task, step;
  StepKind kind;
  uint32_t payload;
};

struct Rank {
  const RankClass *rankClass;
  std::vector<std::vector<bool>> done, joined; // [task][step]
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint32_t, uint32_t>>> waits;
  std::vector<uint32_t> computeLeft; // [task]
  uint32_t chain = 0, order = 0;     // leading tasks without compute left, leading communication that has completed
  const Step &step(uint32_t task, uint32_t index) const {
    return *rankClass->fragments()->Get(rankClass->tasks()->Get(task)->fragment())->steps()->Get(index);
  }
};

class Simulation {
public:
  Simulation(const Program &program, std::mt19937 &chance, bool inOrder) : program(program), chance(chance), inOrder(inOrder) {}

  Simulated run() {
    for (int64_t index = 0, world = worldOf(program); index < world; ++index)
      addRank(*program.classes()->Get(classOf(program, index)));
    result.completed.resize(ranks.size());
    std::vector<int64_t> turns(ranks.size());
    std::iota(turns.begin(), turns.end(), 0);
    for (bool moved = true; moved && result.fate == Fate::Ends;) {
      moved = false;
      std::shuffle(turns.begin(), turns.end(), chance);
      for (int64_t rank : turns)
        moved |= poll(rank, chance() % 2);
    }
    if (result.fate == Fate::Ends)
      findStuck();
    return result;
  }

private:
  const Program &program;
  std::mt19937 &chance;
  bool inOrder;
  std::vector<Rank> ranks;
  std::map<Meeting, std::vector<Member>> meetings;
  Simulated result;

  void addRank(const RankClass &rankClass) {
    ranks.emplace_back();
    Rank &rank = ranks.back();
    rank.rankClass = &rankClass;
    for (const Task *task : *rankClass.tasks()) {
      const auto &steps = *rankClass.fragments()->Get(task->fragment())->steps();
      rank.done.emplace_back(steps.size(), false);
      rank.joined.emplace_back(steps.size(), false);
      rank.computeLeft.push_back(std::count_if(steps.begin(), steps.end(), [](const Step *step) { return !isAsync(*step); }));
    }
    for (const TaskDependency *edge : *rankClass.task_dependencies())
      rank.waits[{edge->task(), edge->step()}].push_back({edge->on_task(), edge->on_step()});
    advance(rank);
  }

  void advance(Rank &rank) {
    while (rank.chain < rank.computeLeft.size() && rank.computeLeft[rank.chain] == 0)
      ++rank.chain;
    const auto &order = *rank.rankClass->communication_order();
    while (rank.order < order.size() && rank.done[order[rank.order]->task()][order[rank.order]->step()])
      ++rank.order;
  }

  bool canStart(const Rank &rank, uint32_t task, uint32_t index) const {
    const Step &step = rank.step(task, index);
    const Fragment &fragment = *rank.rankClass->fragments()->Get(rank.rankClass->tasks()->Get(task)->fragment());
    for (uint32_t i = 0; i < step.dependency_count(); ++i)
      if (!rank.done[task][fragment.dependencies()->Get(step.first_dependency() + i)])
        return false;
    if (auto found = rank.waits.find({task, index}); found != rank.waits.end())
      for (auto [onTask, onStep] : found->second)
        if (!rank.done[onTask][onStep])
          return false;
    if (!isAsync(step) && rank.chain < task - (rank.rankClass->tasks()->Get(task)->overlaps() != 0))
      return false;
    if (!inOrder || (!isTransfer(step.kind()) && step.kind() != StepKind::Collective))
      return true;
    const auto &order = *rank.rankClass->communication_order();
    return rank.order < order.size() && order[rank.order]->task() == task && order[rank.order]->step() == index;
  }

  /// Starts what can start on one rank; whether something did.
  bool poll(int64_t rankNumber, bool backwards) {
    Rank &rank = ranks[rankNumber];
    bool moved = false;
    uint32_t tasks = rank.done.size();
    for (uint32_t i = 0; i < tasks; ++i) {
      uint32_t task = backwards ? tasks - 1 - i : i;
      for (uint32_t step = 0; step < rank.done[task].size() && result.fate == Fate::Ends; ++step) {
        if (rank.joined[task][step] || !canStart(rank, task, step))
          continue;
        moved = rank.joined[task][step] = true;
        StepKind kind = rank.step(task, step).kind();
        if (isTransfer(kind) || kind == StepKind::Collective)
          join(rankNumber, task, step);
        else
          finish(rankNumber, task, step);
      }
    }
    return moved;
  }

  void finish(int64_t rankNumber, uint32_t task, uint32_t step) {
    Rank &rank = ranks[rankNumber];
    rank.done[task][step] = true;
    StepKind kind = rank.step(task, step).kind();
    if (!isAsync(rank.step(task, step)))
      --rank.computeLeft[task];
    if (isTransfer(kind) || kind == StepKind::Collective)
      result.completed[rankNumber].emplace_back(task, step);
    advance(rank);
  }

  void join(int64_t rankNumber, uint32_t task, uint32_t index) {
    const Rank &rank = ranks[rankNumber];
    const Step &step = rank.step(task, index);
    Member self = {rankNumber, task, index, step.kind(), step.payload()};
    uint32_t micro = rank.rankClass->tasks()->Get(task)->micro();
    Meeting key;
    if (step.kind() == StepKind::Collective) {
      const Collective &collective = *program.collectives()->Get(step.payload());
      key = {true, collective.event(), micro, groupOf(program, collective, rankNumber)};
    } else {
      const Transfer &transfer = *program.transfers()->Get(step.payload());
      std::vector<int64_t> coordinates = coordinatesOf(program, rankNumber);
      coordinates[transfer.axis()] = transfer.peer();
      int64_t peer = rankAt(program, coordinates);
      key = {false, transfer.event(), micro,
             step.kind() == StepKind::Send ? std::vector<int64_t>{rankNumber, peer} : std::vector<int64_t>{peer, rankNumber}};
    }
    std::vector<Member> &present = meetings[key];
    for (const Member &other : present) {
      bool twice = step.kind() == StepKind::Collective ? other.rank == rankNumber : other.kind == step.kind();
      if (twice || !agree(other, self)) {
        result.fate = Fate::Disagrees;
        result.why = place(other) + " and " + place(self);
        return;
      }
    }
    present.push_back(self);
    if (present.size() < std::get<3>(key).size())
      return;
    std::vector<Member> complete;
    complete.swap(present);
    for (const Member &member : complete)
      finish(member.rank, member.task, member.step);
  }

  bool agree(const Member &a, const Member &b) const {
    if (a.kind != StepKind::Collective) {
      const Transfer &left = *program.transfers()->Get(a.payload), &right = *program.transfers()->Get(b.payload);
      return left.count() == right.count() && left.type() == right.type();
    }
    const Collective &left = *program.collectives()->Get(a.payload), &right = *program.collectives()->Get(b.payload);
    return left.kind() == right.kind() && left.op() == right.op() && left.type() == right.type() && left.count() == right.count() &&
           left.outer() == right.outer() && left.split() == right.split() && left.inner() == right.inner();
  }

  std::string place(const Member &member) const {
    return "rank " + std::to_string(member.rank) + " " + describePlace(program, *ranks[member.rank].rankClass, member.task, member.step);
  }

  void findStuck() {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      for (uint32_t task = 0; task < ranks[rank].done.size(); ++task)
        for (uint32_t step = 0; step < ranks[rank].done[task].size(); ++step)
          if (!ranks[rank].done[task][step]) {
            result.fate = Fate::Hangs;
            if (ranks[rank].joined[task][step])
              result.why += place({int64_t(rank), task, step, StepKind::Zero, 0}) + " waits for its peers\n";
          }
  }
};

} // namespace

Simulated simulate(const Program &program, std::mt19937 &chance, bool inOrder) { return Simulation(program, chance, inOrder).run(); }

} // namespace npar::program
