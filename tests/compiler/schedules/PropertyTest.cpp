// Properties of every schedule of the registry, with random sizes and costs, and the times for 64 stages x 512 micro-batches.
#include "Make.h"
#include "compiler/schedules/Validate.h"

#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

namespace npar::schedules {

namespace {

/// Most micro-batches that a stage holds, as the sources of the schedules state it.
double statedMemory(const std::string &kind, const Request &request) {
  int p = request.stages, m = request.micros, v = std::max(1, request.chunks);
  std::map<std::string, double> stated = {
      {"naive", 1},
      {"gpipe", m},
      {"1f1b", p},
      {"interleaved", p + (p - 1.0) / v},
      {"looped_bfs", m},
      {"zb_h1", p},
      {"zb_h2", 2 * p - 1},
      {"zb_v", p},
      {"v_half", (p + 2) / 2},
      {"v_min", (p + 4) / 3},
      {"dualpipe_v", p + 0.5},
      {"zb_auto", request.memoryCap},
      {"backward_first", request.memoryCap},
  };
  EXPECT_TRUE(stated.count(kind)) << "no stated memory of " << kind;
  return std::min<double>(m, stated[kind]);
}

class Draw {
public:
  explicit Draw(unsigned seed) : random(seed) {}

  int between(int least, int greatest) { return least + static_cast<int>(random() % (greatest - least + 1)); }
  double time() { return between(1, 400) / 100.0; }

  Request request(const ScheduleKind &kind, int stages, int micros) {
    Request request;
    request.stages = between(1, stages);
    request.micros = between(1, micros);
    request.chunks = kind.anyChunks ? between(1, 4) : kind.chunks;
    if (std::string(kind.name) == "dualpipe_v")
      request.micros += 2 * request.stages;
    bool same = between(0, 1) == 0;
    for (int stage = 0; stage < request.stages; ++stage)
      request.costs.push_back(same && stage > 0 ? request.costs[0] : StageCost{time(), time(), time()});
    request.transfer = between(0, 2) == 0 ? 0 : time() / 4;
    request.memoryCap = between(1, 2 * request.stages);
    return request;
  }

private:
  std::minstd_rand random;
};

std::string describe(const ScheduleKind &kind, const Request &request) {
  std::ostringstream out;
  out << kind.name << ", " << request.stages << " stages, " << request.micros << " micro-batches, " << request.chunks << " chunks, cap "
      << request.memoryCap;
  return out.str();
}

/// Times of tasks by phase, place in the chain and micro-batch, gathered without the simulator's own view of dependencies.
using Times = std::map<std::tuple<Phase, int, int>, cost::Span>;

Times timesOf(const Schedule &schedule, const Simulation &simulation) {
  Times times;
  for (int stage = 0; stage < schedule.stages(); ++stage)
    for (size_t i = 0; i < schedule.lists[stage].size(); ++i) {
      const Task &task = schedule.lists[stage][i];
      bool first =
          times.emplace(std::make_tuple(task.phase, schedule.place(stage, task.chunk), task.micro), simulation.timeline.spans[stage][i])
              .second;
      EXPECT_TRUE(first) << "twice on stage " << stage;
    }
  return times;
}

/// Every task of every part and micro-batch is there and starts after what it needs, a message included.
void checkDependencies(const Schedule &schedule, const Request &request, const Times &times) {
  const int parts = static_cast<int>(schedule.placement.size());
  auto before = [&](Phase phase, int from, int to, int micro) {
    double message = schedule.placement[from] == schedule.placement[to] ? 0 : request.transfer;
    EXPECT_GE(times.at({phase, to, micro}).begin, times.at({phase, from, micro}).end + message - 1e-9);
  };
  for (int micro = 0; micro < schedule.micros; ++micro)
    for (int place = 0; place < parts; ++place) {
      ASSERT_TRUE(times.count({Phase::F, place, micro}) && times.count({Phase::B, place, micro}));
      if (place > 0)
        before(Phase::F, place - 1, place, micro);
      if (place + 1 < parts)
        before(Phase::B, place + 1, place, micro);
      EXPECT_GE(times.at({Phase::B, place, micro}).begin, times.at({Phase::F, place, micro}).end - 1e-9);
      auto weight = times.find({Phase::W, place, micro});
      if (weight != times.end()) {
        EXPECT_GE(weight->second.begin, times.at({Phase::B, place, micro}).end - 1e-9);
      }
    }
}

/// Checks that each stage receives exactly the messages that other stages send to it.
void checkMessages(const Schedule &schedule) {
  using Message = std::tuple<Phase, int, int, int>; // receiving place, micro-batch, sending stage
  std::set<Message> sent, received;
  const std::vector<int> &on = schedule.placement;
  for (int stage = 0; stage < schedule.stages(); ++stage)
    for (const Task &task : schedule.lists[stage]) {
      if (task.phase == Phase::W)
        continue;
      int place = schedule.place(stage, task.chunk), step = task.phase == Phase::F ? 1 : -1;
      auto crosses = [&](int from, int to) {
        return std::min(from, to) >= 0 && std::max(from, to) < static_cast<int>(on.size()) && on[from] != on[to];
      };
      if (crosses(place, place + step))
        sent.insert({task.phase, place + step, task.micro, stage});
      if (crosses(place - step, place))
        received.insert({task.phase, place, task.micro, on[place - step]});
    }
  EXPECT_EQ(sent, received);
}

} // namespace

TEST(Property, HoldsForEverySchedule) {
  Draw draw(1);
  for (const ScheduleKind &kind : scheduleKinds())
    for (int round = 0; round < (std::string(kind.name) == "zb_auto" ? 10 : 100); ++round) {
      Request request = draw.request(kind, 10, 30);
      SCOPED_TRACE(describe(kind, request));
      Made made = makeSchedule(kind, request);
      ASSERT_EQ(made.refusal, "");
      const Schedule &schedule = made.schedule;
      ASSERT_EQ(schedule.kind, kind.name);
      ASSERT_EQ(schedule.stages(), request.stages);
      ASSERT_EQ(schedule.micros, request.micros);
      ASSERT_EQ(schedule.chunks, request.chunks);
      std::vector<ScheduleError> errors = validate(schedule);
      ASSERT_TRUE(errors.empty()) << errors[0].reason;
      Simulation simulation = simulate(schedule, request.costs, request.transfer);
      ASSERT_TRUE(simulation.timeline.complete);
      Times times = timesOf(schedule, simulation);
      checkDependencies(schedule, request, times);
      checkMessages(schedule);
      EXPECT_LE(most(simulation.peakLive), statedMemory(kind.name, request) + 1e-9);
    }
}

// The orders of tasks are made without looking at the clock or at the run before.
TEST(Property, TheSameRequestGivesTheSameSchedule) {
  Draw draw(2);
  for (const ScheduleKind &kind : scheduleKinds()) {
    Request request = draw.request(kind, 8, 20);
    EXPECT_EQ(makeSchedule(kind, request).schedule, makeSchedule(kind, request).schedule) << kind.name;
  }
}

TEST(Property, EveryScheduleTakesAnySmallSize) {
  for (const ScheduleKind &kind : scheduleKinds())
    for (int stages = 1; stages <= 4; ++stages)
      for (int micros = 1; micros <= 3; ++micros) {
        Request request;
        request.stages = stages;
        request.micros = micros;
        Made made = makeSchedule(kind, request);
        bool refused = std::string(kind.name) == "dualpipe_v" && micros < 2 * stages;
        EXPECT_EQ(!made.refusal.empty(), refused) << describe(kind, request);
        EXPECT_TRUE(refused || validate(made.schedule).empty()) << describe(kind, request);
      }
}

TEST(Property, PrintsTimesAtSize) {
  for (const ScheduleKind &kind : scheduleKinds()) {
    Request request;
    request.stages = 64;
    request.micros = 512;
    auto start = std::chrono::steady_clock::now();
    std::clock_t processor = std::clock();
    Made made = makeSchedule(kind, request);
    Simulation simulation = simulate(made.schedule, std::vector<StageCost>(64));
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(simulation.timeline.complete);
    std::cout << kind.name << ": 64 stages x 512 micro-batches made and simulated in " << seconds.count() << " s, of the processor "
              << double(std::clock() - processor) / CLOCKS_PER_SEC << " s; bubble rate " << simulation.bubbleRate << "\n";
  }
}

} // namespace npar::schedules
