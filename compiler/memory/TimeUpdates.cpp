// Planned times of the update's steps: classes take turns, each running its steps in order up to one that waits for another class.
#include "compiler/memory/Allocate.h"

#include <algorithm>
#include <array>
#include <map>

namespace npar::memory {
namespace {

using program::StepKind;

class Updates {
public:
  explicit Updates(program::ProgramT &program) : program(program) {}

  void run() {
    for (auto &rankClass : program.classes)
      for (program::Task &task : rankClass->tasks)
        if (rankClass->fragments[task.fragment()]->phase == program::Phase::Update)
          lanes.push_back({rankClass.get(), &task, rankClass->fragments[task.fragment()].get(), task.begin(), 0, 0, 0, 0, {}, {}});
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t lane = 0; lane < lanes.size(); ++lane)
        while (lanes[lane].times.size() < lanes[lane].fragment->steps.size() && runStep(lane))
          moved = true;
    }
    for (const RankUpdate &lane : lanes)
      if (lane.times.size() < lane.fragment->steps.size())
        return; // the deadlock check words what is wrong
    for (RankUpdate &lane : lanes)
      write(lane);
  }

private:
  struct Span {
    double begin = 0, end = 0;
  };
  /// The update of one class.
  struct RankUpdate {
    program::RankClassT *rankClass;
    program::Task *task;
    program::FragmentT *fragment;
    double clock;    ///< end of the last compute step
    double network;  ///< end of the last free collective
    double sent;     ///< end of the last message to another class ...
    double received; ///< ... and of the last from another
    double end;      ///< end of the last step
    std::vector<Span> times;
    std::array<double, laneCount> links = {}; ///< end of the last copy on each link between tiers
  };
  /// A collective over stages: when each lane is ready for it.
  struct Meeting {
    std::map<size_t, double> ready;
    double end = 0;
  };

  program::ProgramT &program;
  std::vector<RankUpdate> lanes;
  std::map<uint32_t, Span> messages;    ///< by event
  std::map<uint32_t, Meeting> meetings; ///< by event

  /// The link that a copy between tiers takes.
  static Lane linkOf(const RankUpdate &lane, const program::Step &step) {
    if (step.kind() != StepKind::Copy)
      return Lane::Compute;
    auto tierOf = [&](uint32_t operand) { return lane.rankClass->regions[lane.fragment->operands[operand].region()]->tier; };
    return laneOfCopy(tierOf(step.first_operand()), tierOf(step.first_operand() + 1));
  }

  static double secondsOf(const program::Step &step) { return step.end() - step.begin(); }

  /// Returns whether the collective runs along an axis by which classes differ; then all lanes are members.
  bool joinsLanes(const RankUpdate &lane, const program::CollectiveT &collective) const {
    return std::any_of(lane.rankClass->fixed.begin(), lane.rankClass->fixed.end(), [&](const auto &fixed) {
      return std::find(collective.axes.begin(), collective.axes.end(), fixed->axis) != collective.axes.end();
    });
  }

  /// The time when all steps of earlier tasks that the lane's next step waits for have ended.
  double readyBefore(const RankUpdate &lane) const {
    uint32_t task = static_cast<uint32_t>(lane.task - lane.rankClass->tasks.data()), step = static_cast<uint32_t>(lane.times.size());
    double ready = 0;
    for (const program::TaskDependency &edge : lane.rankClass->task_dependencies)
      if (edge.task() == task && edge.step() == step) {
        const program::Task &on = lane.rankClass->tasks[edge.on_task()];
        ready = std::max(ready, on.begin() + lane.rankClass->fragments[on.fragment()]->steps[edge.on_step()].end());
      }
    return ready;
  }

  /// Times the lane's next step; false when it waits for another lane.
  bool runStep(size_t index) {
    RankUpdate &lane = lanes[index];
    const program::Step &step = lane.fragment->steps[lane.times.size()];
    double ready = lane.task->begin();
    for (uint32_t i = 0; i < step.dependency_count(); ++i)
      ready = std::max(ready, lane.times[lane.fragment->dependencies[step.first_dependency() + i]].end);
    Span span;
    if (step.kind() == StepKind::Send) {
      double begin = std::max(ready, lane.sent);
      span = {begin, begin + secondsOf(step)};
      lane.sent = span.end;
      messages[program.transfers[step.payload()]->event] = span;
    } else if (step.kind() == StepKind::Receive) {
      auto sent = messages.find(program.transfers[step.payload()]->event);
      if (sent == messages.end())
        return false;
      // The sender does not wait for a late receiver; there the message ends when both are ready. Messages of several senders take turns.
      double begin = std::max(sent->second.begin, lane.received);
      lane.received = begin + sent->second.end - sent->second.begin;
      span = {std::max(ready, begin), std::max(ready, lane.received)};
    } else if (step.free()) {
      double begin = std::max(readyBefore(lane), lane.network);
      for (uint32_t i = 0; i < step.dependency_count(); ++i)
        begin = std::max(begin, lane.times[lane.fragment->dependencies[step.first_dependency() + i]].end);
      span = {begin, begin + secondsOf(step)};
      lane.network = span.end;
    } else if (const Lane link = linkOf(lane, step); link != Lane::Compute) {
      double &clock = lane.links[static_cast<size_t>(link)];
      span = {std::max(ready, clock), std::max(ready, clock) + secondsOf(step)};
      clock = span.end;
    } else {
      double begin = std::max(ready, lane.clock);
      if (step.kind() == StepKind::Collective && joinsLanes(lane, *program.collectives[step.payload()])) {
        Meeting &meeting = meetings[program.collectives[step.payload()]->event];
        meeting.ready[index] = begin;
        if (meeting.ready.size() < lanes.size())
          return false;
        for (const auto &[member, when] : meeting.ready)
          begin = std::max(begin, when);
      }
      span = {begin, begin + secondsOf(step)};
      lane.clock = span.end;
    }
    lane.times.push_back(span);
    lane.end = std::max(lane.end, span.end);
    return true;
  }

  void write(RankUpdate &lane) {
    double origin = lane.task->begin();
    for (size_t i = 0; i < lane.times.size(); ++i) {
      lane.fragment->steps[i].mutate_begin(lane.times[i].begin - origin);
      lane.fragment->steps[i].mutate_end(lane.times[i].end - origin);
    }
    lane.task->mutate_end(std::max(origin, lane.end));
  }
};

} // namespace

void timeUpdates(program::ProgramT &program) { Updates(program).run(); }

} // namespace npar::memory
