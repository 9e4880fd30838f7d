// Walks the simulated times: each gap of a stage is charged to the dependency that ended it; the critical path is followed from the end.
#include "compiler/schedules/show/ScheduleExplain.h"

#include "compiler/schedules/Needs.h"
#include "compiler/schedules/show/ScheduleText.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace npar::schedules {
namespace {

constexpr int mostTasksForAdvice = 8192; // stages * micro-batches; searching schedules beyond takes more than seconds

class Explainer {
public:
  explicit Explainer(const TimedSchedule &timed)
      : timed(timed), schedule(timed.schedule), timeline(timed.times->timeline), needs(timed.schedule), places(schedule.stages()),
        nearby(timeline.makespan * 1e-9) {
    for (int stage = 0; stage < schedule.stages(); ++stage)
      for (size_t i = 0; i < schedule.lists[stage].size(); ++i)
        places[stage][key(schedule.lists[stage][i])] = static_cast<int>(i);
  }

  ScheduleExplanation run() {
    for (int stage = 0; stage < schedule.stages(); ++stage)
      result.stages.push_back(waits(stage));
    followPath();
    advise();
    return std::move(result);
  }

private:
  using Key = std::tuple<int, int, int>;
  static Key key(const Task &task) { return {task.chunk, static_cast<int>(task.phase), task.micro}; }

  /// The last need to arrive; it ends a wait.
  struct Arrival {
    Need need;
    int place = 0;
    double message = 0, time = -1;
  };

  Arrival lastArrival(int stage, const Task &task) const {
    Arrival last;
    for (const Need &need : needs.of(stage, task)) {
      int place = places[need.stage].at(key(need.task));
      double message = need.stage == stage ? 0 : timed.transfer, time = timeline.spans[need.stage][place].end + message;
      if (time > last.time)
        last = {need, place, message, time};
    }
    return last;
  }

  /// Splits [begin, end) of waiting at the stage's own boundaries between its parts.
  void charge(StageWait &wait, double begin, double end, double low, double high) const {
    auto overlap = [&](double from, double to) { return std::max(0.0, std::min(end, to) - std::max(begin, from)); };
    wait.idle += end - begin;
    wait.warmUp += overlap(0, low);
    wait.steady += overlap(low, high);
    wait.drain += overlap(high, timeline.makespan);
  }

  StageWait waits(int stage) const {
    const std::vector<Task> &tasks = schedule.lists[stage];
    const std::vector<cost::Span> &spans = timeline.spans[stage];
    double firstBackward = timeline.makespan, lastForward = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].phase == Phase::B)
        firstBackward = std::min(firstBackward, spans[i].begin);
      if (tasks[i].phase == Phase::F)
        lastForward = std::max(lastForward, spans[i].end);
    }
    double low = std::min(firstBackward, lastForward), high = std::max(firstBackward, lastForward), clock = 0;
    StageWait wait;
    std::map<int, double> forward, backward; // by stage
    for (size_t i = 0; i < tasks.size(); ++i) {
      double gap = spans[i].begin - clock;
      if (gap > nearby) {
        Arrival arrival = lastArrival(stage, tasks[i]);
        double message = std::min(gap, arrival.message);
        wait.message += message;
        (arrival.need.task.phase == Phase::F ? forward : backward)[arrival.need.stage] += gap - message;
        charge(wait, clock, spans[i].begin, low, high);
      }
      wait.busy += spans[i].end - spans[i].begin;
      clock = spans[i].end;
    }
    wait.done = timeline.makespan - clock;
    charge(wait, clock, timeline.makespan, low, high);
    auto sum = [](const std::map<int, double> &times, double &total, int &longest) {
      double most = 0;
      for (auto [from, time] : times) {
        total += time;
        if (time > most)
          most = time, longest = from;
      }
    };
    sum(forward, wait.forward, wait.forwardFrom);
    sum(backward, wait.backward, wait.backwardFrom);
    return wait;
  }

  void followPath() {
    int stage = 0, place = 0;
    for (int s = 0; s < schedule.stages(); ++s)
      if (timeline.spans[s].back().end > timeline.spans[stage].back().end + nearby)
        stage = s;
    place = static_cast<int>(schedule.lists[stage].size()) - 1;
    for (;;) {
      const cost::Span &span = timeline.spans[stage][place];
      const Task &task = schedule.lists[stage][place];
      result.pathPhases[static_cast<int>(task.phase)] += span.end - span.begin;
      result.path.push_back({stage, place, false});
      // A dependency that arrives just now comes before the stage's own turn: it is what a better order could change.
      Arrival arrival = lastArrival(stage, task);
      bool own = place > 0 && timeline.spans[stage][place - 1].end >= span.begin - nearby;
      if (arrival.time >= span.begin - nearby && !(own && arrival.need.stage == stage)) {
        result.path.back().message = arrival.need.stage != stage;
        result.pathMessages += arrival.message;
        stage = arrival.need.stage;
        place = arrival.place;
      } else if (own) {
        --place;
      } else {
        break;
      }
    }
    std::reverse(result.path.begin(), result.path.end());
  }

  void advise() {
    auto percent = [](double rate) { return fmt::format("{:.2f} %", 100 * rate); };
    if (timed.bubbleRate < 1e-9) {
      result.advice.push_back("there is no bubble to reduce");
      return;
    }
    if (int64_t{schedule.stages()} * schedule.micros > mostTasksForAdvice) {
      result.advice.push_back("other schedules were not tried, because there are too many tasks");
      return;
    }
    std::optional<TimedSchedule> same, any;
    for (const ScheduleKind &kind : scheduleKinds()) {
      TimedSchedule like = timed;
      like.memoryCap = timed.peakLive();
      auto better = [&](std::optional<TimedSchedule> &best, double cap) {
        like.memoryCap = cap;
        MadeSchedule made = makeTimed(kind, schedule.stages(), schedule.micros, 0, like);
        if (made.schedule && made.schedule->faults.empty() &&
            made.schedule->bubbleRate < (best ? best->bubbleRate : timed.bubbleRate) - 1e-9)
          best = std::move(made.schedule);
      };
      better(same, timed.peakLive());
      better(any, 0);
    }
    if (same)
      result.advice.push_back(fmt::format("{} also needs at most {:.4g} live forward activations, and has a bubble of {} instead of {}",
                                          same->name, same->peakLive(), percent(same->bubbleRate), percent(timed.bubbleRate)));
    if (any && (!same || any->bubbleRate < same->bubbleRate - 1e-9))
      result.advice.push_back(
          fmt::format("with {:.4g} live forward activations, {} has a bubble of {}", any->peakLive(), any->name, percent(any->bubbleRate)));
    if (const ScheduleKind *kind = findSchedule(schedule.kind))
      if (MadeSchedule more = makeTimed(*kind, schedule.stages(), 2 * schedule.micros, schedule.chunks, timed);
          more.schedule && more.schedule->times && more.schedule->bubbleRate < timed.bubbleRate - 1e-9)
        result.advice.push_back(fmt::format("twice as many micro-batches ({}): a bubble of {}, {:.4g} live forward activations",
                                            2 * schedule.micros, percent(more.schedule->bubbleRate), more.schedule->peakLive()));
    if (timed.transfer > 0) {
      Simulation free = simulate(schedule, std::vector<StageCost>(schedule.stages(), timed.cost), 0);
      result.advice.push_back(fmt::format("messages take {:.4g} of the makespan: without them it is {:.6g} instead of {:.6g}",
                                          timeline.makespan - free.timeline.makespan, free.timeline.makespan, timeline.makespan));
    }
    if (!same && !any)
      result.advice.push_back("no other schedule has a smaller bubble for these stages, micro-batches and costs");
  }

  const TimedSchedule &timed;
  const Schedule &schedule;
  const cost::Timeline &timeline;
  Needs needs;
  std::vector<std::map<Key, int>> places; ///< per stage: of each task in its list
  double nearby;                          ///< differences of times below it are rounding
  ScheduleExplanation result;
};

} // namespace

ScheduleExplanation explain(const TimedSchedule &schedule) { return Explainer(schedule).run(); }

} // namespace npar::schedules
