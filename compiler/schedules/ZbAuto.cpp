// ZB auto: the best schedule that a search finds for the given costs within a memory cap (after Qi et al. 2023, "Zero Bubble Pipeline
// Parallelism", section 3.1: lengths of the warm-up, rules to fill gaps with W; here also for V-shaped placements and building blocks).
//
//   zb_auto, 3 stages, 6 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 F2 F3 F4 f0 b0 w0 f1 b1 w1 f2 b2 w2 F5 B0 W0 f3 b3 w3 B1 W1 f4 b4 w4 B2 W2 f5 b5 B3 w5 B4 W3 B5 W4 W5 .. ..
//   stage 1  .. F0 F1 F2 f0 F3 f1 b0 w0 f2 b1 w1 F4 B0 W0 f3 b2 w2 F5 B1 W1 f4 b3 w3 B2 W2 f5 b4 B3 b5 B4 w4 B5 W3 w5 W4 W5 ..
//   stage 2  .. .. F0 f0 F1 f1 F2 f2 b0 w0 F3 B0 W0 f3 b1 w1 F4 B1 W1 f4 b2 w2 F5 B2 W2 f5 b3 B3 b4 B4 b5 B5 w3 W3 w4 W4 w5 W5
//
// Candidates are all named schedules, and orders of forwards and backwards with W filled in by several rules. The orders are those of the
// named schedules, warm-ups of other lengths with one chunk, V-shapes with more slack, building blocks of other sizes, and the results of
// greedy runs. All are timed with fewer micro-batches first, the best with all of them, and the best of these is improved step by step. The
// result is therefore never worse than a named schedule under the same cap, in the cost by which bubble rates are defined
// (`Simulation::cost`); makespan, then memory break ties. The effort is bounded by the number of tasks timed. Without a cap, the search
// keeps to 2p - 1 micro-batches per stage, as zb_h2 does, and takes a named schedule that holds more only if that is better. If the number
// of chunks is not given, it takes one or two.
#include "compiler/schedules/Build.h"
#include "compiler/schedules/GreedyOrder.h"
#include "compiler/schedules/Improve.h"
#include "compiler/schedules/Simulate.h"
#include "compiler/schedules/VShape.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace npar::schedules {

namespace {

constexpr double tasksToCompare = 2.5e6, tasksToImprove = 2e6; ///< about half a second each
constexpr size_t keptChoices = 4;
constexpr int fewestTrials = 100, mostTrials = 1000;

class Search {
public:
  explicit Search(const Request &request) : request(request) {}

  Made run() {
    for (int chunks : request.chunks == 0 ? std::vector<int>{1, 2} : std::vector<int>{request.chunks})
      listOrders(chunks);
    std::vector<Choice> choices = compare();
    for (const Choice &choice : choices)
      offerFilled(candidate(choice, request.micros));
    choices.resize(std::min<size_t>(choices.size(), 2));
    for (const Choice &choice : choices) {
      if (4.0 * 3 * request.stages * request.micros * 2 <= tasksToImprove / 4)
        for (double patience : {0.0, 0.25, 0.75, 1.0})
          offerFilled(candidate({choice.order, patience, 0}, request.micros));
      improveFrom(candidate(choice, request.micros), tasksToImprove / 2);
    }
    // There is one: backward_first keeps to any cap, with any number of chunks that is asked for.
    best->schedule.kind = "zb_auto";
    return {best->schedule, ""};
  }

private:
  /// An order of forwards and backwards for a number of micro-batches; returns no lists if it does not exist for that number.
  using Order = std::function<Schedule(int micros)>;

  struct Choice {
    const Order *order;
    double patience, score;
  };

  struct Result {
    Schedule schedule;
    double cost, makespan, memory;
  };

  /// Most chunks of micro-batches that a searched schedule may hold on a stage.
  int limit(int chunks) const {
    double cap = request.memoryCap > 0 ? request.memoryCap : 2 * request.stages - 1;
    return static_cast<int>(std::min<double>(cap, request.micros) * chunks + 1e-9);
  }

  Candidate candidate(const Choice &choice, int micros) const {
    Schedule schedule = (*choice.order)(micros);
    int most = limit(schedule.chunks);
    return {std::move(schedule), std::vector<WeightRule>(request.stages, {most, choice.patience})};
  }

  /// The orders with a number of chunks, those first that are good most often. Named schedules are offered as they are, too.
  void listOrders(int chunks) {
    const int stages = request.stages;
    for (const ScheduleKind &kind : scheduleKinds())
      if (kind.make != zbAuto && (kind.chunks == chunks || (kind.anyChunks && request.chunks != 0)))
        addNamed(kind, chunks);
    if (chunks == 1)
      for (double slack : {0.0, 1.0, 0.5, 0.25, 0.75, 1.5, 2.0})
        orders.push_back([stages, slack, most = limit(1)](int micros) {
          TaskLists lists;
          for (int stage = 0; stage < stages; ++stage)
            lists.push_back(delayWeights(micros, std::min<int>(most, 1 + std::lround((stages - 1 - stage) * (1 + slack))), 0));
          return Schedule{"", micros, 1, loopPlacement(stages, 1), lists};
        });
    if (chunks == 2)
      for (VSlack slack : {VSlack{0, 1, 1}, VSlack{0, 0.5, 0.5}, VSlack{0.5, 0.5, 0.5}, VSlack{0, 0.25, 0.25}, VSlack{0, 0.75, 0.75}})
        addShape(slack);
    for (double slack : {1.0, 1.5, 2.0, 3.0})
      for (bool forwardFirst : {false, true})
        addGreedy(chunks, slack, forwardFirst);
    if (chunks != 2)
      return;
    for (int down = 1; down <= 5; ++down)
      for (int up = 1; up <= 5; ++up)
        if (down != up || down == 1)
          orders.push_back([=](int micros) { return vBlock(stages, micros, {down, up, down, up}); });
    for (double down : {0.0, 0.5, 1.0})
      for (double turn : {0.0, 0.25, 0.5, 0.75, 1.0})
        for (double up : {0.0, 0.25, 0.5, 0.75, 1.0})
          addShape({down, turn, up});
  }

  void addNamed(const ScheduleKind &kind, int chunks) {
    Request all = request;
    all.chunks = chunks;
    Made made = makeSchedule(kind, all);
    if (!made.refusal.empty())
      return;
    offer(made.schedule);
    orders.push_back([=](int micros) {
      Request some = all;
      some.micros = micros;
      return makeSchedule(kind, some).schedule;
    });
  }

  void addShape(const VSlack &slack) {
    int stages = request.stages;
    orders.push_back([=](int micros) { return vOrder(stages, micros, slack); });
  }

  void addGreedy(int chunks, double slack, bool forwardFirst) {
    Placement placement = chunks == 2 ? vPlacement(request.stages) : loopPlacement(request.stages, chunks);
    orders.push_back([=](int micros) {
      return greedyOrder(placement, chunks, micros, request.costs, request.transfer, {limit(chunks), slack, forwardFirst});
    });
  }

  /// Times the orders under every rule with few micro-batches, as far as the effort goes: the best of all.
  std::vector<Choice> compare() const {
    int micros = std::min(request.micros, std::max(2 * request.stages + 8, static_cast<int>(500 / request.stages)));
    double once = 3.0 * request.stages * micros * orders.size() * (request.chunks == 0 ? 1.5 : request.chunks); // every order, about
    const std::vector<double> all = {0.5, 0.0, 1.0, 0.25, 0.75};
    const std::vector<double> patiences(all.begin(), all.begin() + std::clamp(static_cast<int>(tasksToCompare / once), 2, 5));
    double effort = 0;
    std::vector<Choice> choices;
    for (const Order &order : orders) {
      if (effort > tasksToCompare)
        break;
      Schedule schedule = order(micros);
      if (schedule.lists.empty())
        continue;
      for (double patience : patiences) {
        effort += 3.0 * request.stages * micros * schedule.chunks;
        std::vector<WeightRule> rules(request.stages, {limit(schedule.chunks), patience});
        double most = choices.size() < keptChoices ? std::numeric_limits<double>::infinity() : choices.back().score;
        Filled filled = fillWeights(schedule, request.costs, request.transfer, rules, most);
        if (!filled.lists.empty())
          keep({&order, patience, score(filled)}, choices);
      }
    }
    return choices;
  }

  /// Puts a choice among the best ones, after those of the same score.
  static void keep(const Choice &choice, std::vector<Choice> &choices) {
    auto after =
        std::upper_bound(choices.begin(), choices.end(), choice, [](const Choice &a, const Choice &b) { return a.score < b.score; });
    choices.insert(after, choice);
    if (choices.size() > keptChoices)
      choices.pop_back();
  }

  void improveFrom(Candidate start, double effort) {
    double trials = effort / (3.0 * request.stages * request.micros * start.order.chunks);
    if (trials >= fewestTrials)
      offerFilled(improve(std::move(start), request.costs, request.transfer, static_cast<int>(std::min<double>(trials, mostTrials))));
  }

  void offerFilled(Candidate candidate) {
    candidate.order.lists = fillWeights(candidate.order, request.costs, request.transfer, candidate.rules).lists;
    if (!candidate.order.lists.empty())
      offer(candidate.order);
  }

  /// Keeps the schedule if it respects the cap and is the best so far.
  void offer(const Schedule &schedule) {
    Simulation simulation = simulate(schedule, request.costs, request.transfer);
    double most = *std::max_element(simulation.peakLive.begin(), simulation.peakLive.end());
    if (request.memoryCap > 0 && most > request.memoryCap + 1e-9)
      return;
    Result result{schedule, simulation.cost, simulation.timeline.makespan,
                  std::accumulate(simulation.peakLive.begin(), simulation.peakLive.end(), 0.0)};
    if (!best || better(result, *best))
      best = std::move(result);
  }

  static bool better(const Result &a, const Result &b) {
    double same = 1e-9 * b.cost;
    if (std::abs(a.cost - b.cost) > same)
      return a.cost < b.cost;
    if (std::abs(a.makespan - b.makespan) > same)
      return a.makespan < b.makespan;
    return a.memory < b.memory - 1e-9;
  }

  const Request &request;
  std::vector<Order> orders;
  std::optional<Result> best;
};

} // namespace

Made zbAuto(const Request &request) { return Search(request).run(); }

Estimate estimateZbAuto(const Request &request) {
  double stages = request.stages, filling = fillingWaits(2 * stages - 1, request.micros), cap = request.memoryCap;
  if (cap > 0) // assume the bubble of the named schedules that hold as much
    return {cap, std::max((stages - 1) * std::max(0.0, 1 - cap / stages), filling)};
  return {2 * stages - 1, filling};
}

} // namespace npar::schedules
