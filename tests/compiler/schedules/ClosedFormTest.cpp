// The closed forms of the papers: bubble and memory for F = B = W = 1, 2 to 16 stages, p to 4p micro-batches. Where a form is a bound, the
// distance to it is printed.
#include "Make.h"

#include <iomanip>
#include <iostream>

namespace npar::schedules {

namespace {

template <typename Body> void forAllSizes(Body body, int leastPerStage = 1) {
  for (int stages = 2; stages <= 16; ++stages)
    for (int micros = leastPerStage * stages; micros <= 4 * stages; ++micros) {
      SCOPED_TRACE(testing::Message() << stages << " stages, " << micros << " micro-batches");
      body(stages, micros);
    }
}

/// The cost beyond the work itself.
double bubble(const Simulation &simulation, int micros) { return simulation.cost - 3 * micros; }

/// The least and the greatest value seen.
struct Range {
  double least = 1e9, greatest = -1e9;
  void add(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
};

std::ostream &operator<<(std::ostream &out, const Range &range) { return out << range.least << " to " << range.greatest; }

void checkBubble(const Schedule &schedule, double expected) {
  Simulation simulation = simulateEqual(schedule);
  EXPECT_NEAR(bubble(simulation, schedule.micros), expected, 1e-9);
  EXPECT_NEAR(simulation.bubbleRate, expected / (3 * schedule.micros + expected), 1e-12);
}

void checkLive(const Schedule &schedule, double expected) { EXPECT_NEAR(most(simulateEqual(schedule).peakLive), expected, 1e-9); }

} // namespace

TEST(ClosedForm, Naive) {
  forAllSizes([](int p, int m) {
    checkBubble(make("naive", p, m), 3 * m * (p - 1));
    checkLive(make("naive", p, m), 1);
  });
}

TEST(ClosedForm, GPipe) {
  forAllSizes([](int p, int m) {
    Schedule schedule = make("gpipe", p, m);
    EXPECT_NEAR(simulateEqual(schedule).bubbleRate, (p - 1.0) / (m + p - 1), 1e-12);
    EXPECT_NEAR(simulateEqual(schedule).timeline.bubble, (p - 1.0) / (m + p - 1), 1e-12);
    EXPECT_EQ(simulateEqual(schedule).peakLive, std::vector<double>(p, m));
  });
}

TEST(ClosedForm, OneFOneB) {
  forAllSizes([](int p, int m) {
    Schedule schedule = make("1f1b", p, m);
    checkBubble(schedule, 3 * (p - 1));
    for (int stage = 0; stage < p; ++stage)
      EXPECT_EQ(simulateEqual(schedule).peakLive[stage], std::min(p - stage, m));
  });
}

// The bubble of 1F1B. Forwards fill the time until the first gradient; a cap from p on changes nothing but the memory.
TEST(ClosedForm, BackwardFirst) {
  forAllSizes([](int p, int m) {
    Schedule schedule = make("backward_first", p, m);
    checkBubble(schedule, 3 * (p - 1));
    for (int stage = 0; stage < p; ++stage)
      EXPECT_EQ(simulateEqual(schedule).peakLive[stage], std::min(3 * (p - stage) - 2, m));
    Request request;
    request.stages = p;
    request.micros = m;
    for (int cap : {p, p + 1, 2 * p}) {
      request.memoryCap = cap;
      Schedule capped = makeSchedule(*findSchedule("backward_first"), request).schedule;
      checkBubble(capped, 3 * (p - 1));
      checkLive(capped, std::min({cap, 3 * p - 2, m}));
    }
  });
}

// The number of chunks divides the bubble; stage 0 holds p (1 + (p - 1) / (p v)) micro-batches, or all if there are fewer.
TEST(ClosedForm, Interleaved) {
  for (int v = 1; v <= 4; ++v)
    forAllSizes([v](int p, int m) {
      if (m % p != 0)
        return;
      Schedule schedule = make("interleaved", p, m, v);
      checkBubble(schedule, 3.0 * (p - 1) / v);
      checkLive(schedule, std::min<double>(m, p + (p - 1.0) / v));
    });
}

TEST(ClosedForm, LoopedBfs) {
  for (int v = 1; v <= 4; ++v)
    forAllSizes([v](int p, int m) {
      Schedule schedule = make("looped_bfs", p, m, v);
      checkBubble(schedule, 3.0 * (p - 1) / v);
      checkLive(schedule, m);
    });
}

// Stage i, counted from 1, holds (p - i + 1) M_B + (i - 1) M_W.
TEST(ClosedForm, ZbH1) {
  forAllSizes([](int p, int m) {
    Schedule schedule = make("zb_h1", p, m);
    checkBubble(schedule, p - 1);
    checkLive(schedule, p);
    std::vector<double> memory = peakMemory(schedule, std::vector<StageMemory>(p, {54, 32}));
    for (int i = 1; i <= p; ++i)
      EXPECT_EQ(memory[i - 1], (p - i + 1) * 54 + (i - 1) * 32);
  });
}

// Stage i, counted from 1, holds (2p - 2i + 1) M_B + (2i - 2) M_W.
TEST(ClosedForm, ZbH2) {
  forAllSizes([](int p, int m) {
    if (m < 2 * p - 1)
      return;
    Schedule schedule = make("zb_h2", p, m);
    checkBubble(schedule, 0);
    checkLive(schedule, 2 * p - 1);
    std::vector<double> memory = peakMemory(schedule, std::vector<StageMemory>(p, {54, 32}));
    for (int i = 1; i <= p; ++i)
      EXPECT_EQ(memory[i - 1], (2 * p - 2 * i + 1) * 54 + (2 * i - 2) * 32);
  });
}

// No bubble, the memory of 1F1B.
TEST(ClosedForm, ZbV) {
  Range few;
  forAllSizes([&](int p, int m) {
    Schedule schedule = make("zb_v", p, m);
    if (m >= 2 * p - 1)
      checkBubble(schedule, 0);
    else
      few.add(bubble(simulateEqual(schedule), m) / (p - 1));
    EXPECT_LE(most(simulateEqual(schedule).peakLive), p);
  });
  EXPECT_LE(few.greatest, 0.5 + 1e-9);
  std::cout << "zb_v: bubble 0 for m >= 2p - 1, for m < 2p - 1 " << few << " times (p - 1) F; live at most p\n";
}

// Half the bubble and half the memory of 1F1B.
TEST(ClosedForm, VHalf) {
  Range bubbles, live;
  forAllSizes([&](int p, int m) {
    Simulation simulation = simulateEqual(make("v_half", p, m));
    bubbles.add(bubble(simulation, m) - 1.5 * (p - 1));
    live.add(most(simulation.peakLive) - p / 2.0);
  });
  EXPECT_LE(bubbles.greatest, 1e-9);
  EXPECT_LE(live.greatest, 1);
  std::cout << "v_half: bubble - (p - 1)(F + B + W) / 2 is " << bubbles << ", live - p / 2 is " << live << "\n";
}

// Two thirds of the bubble and a third of the memory of 1F1B.
TEST(ClosedForm, VMin) {
  Range bubbles, live;
  forAllSizes([&](int p, int m) {
    Simulation simulation = simulateEqual(make("v_min", p, m));
    bubbles.add(bubble(simulation, m) - 2.0 * (p - 1));
    live.add(most(simulation.peakLive) - p / 3.0);
  });
  EXPECT_LE(bubbles.greatest, 0.5 + 1e-9);
  EXPECT_LE(live.greatest, 4 / 3.0 + 1e-9);
  std::cout << "v_min: bubble - 2 (p - 1)(F + B + W) / 3 is " << bubbles << ", live - p / 3 is " << live << "\n";
}

// (PP / 2 - 1)(F&B + B - 3 W) of the published form is (p - 1)(F + 2 B - W) / 2 here, PP + 1 chunks are p + 1/2 micro-batches.
TEST(ClosedForm, DualPipeV) {
  Range bubbles, live;
  forAllSizes(
      [&](int p, int m) {
        Simulation simulation = simulateEqual(make("dualpipe_v", p, m));
        bubbles.add(bubble(simulation, m) - (p - 1));
        live.add(most(simulation.peakLive) - p);
      },
      2);
  EXPECT_LE(bubbles.greatest, 1e-9);
  EXPECT_LE(live.greatest, 0.5);
  std::cout << "dualpipe_v: bubble - (p - 1)(F + 2 B - W) / 2 is " << bubbles << ", live - p is " << live << "\n";
}

// Compares the estimates that guide a search with simulated schedules. A schedule has tasks for weight gradients exactly if its kind states
// it.
TEST(ClosedForm, Estimates) {
  for (const ScheduleKind &kind : scheduleKinds())
    for (int stages : {2, 4, 8})
      for (int micros : {2 * stages, 4 * stages}) {
        SCOPED_TRACE(testing::Message() << kind.name << ", " << stages << " stages, " << micros << " micro-batches");
        Request request;
        request.stages = stages, request.micros = micros, request.chunks = std::max(1, kind.chunks);
        Schedule schedule = make(kind.name, stages, micros);
        Simulation simulation = simulateEqual(schedule);
        Estimate estimate = kind.estimate(request);
        double waits = (simulation.cost - 3 * micros) / 3, held = most(simulation.peakLive);
        EXPECT_NEAR(estimate.waits, waits, 0.4 + 0.35 * std::max(estimate.waits, waits));
        EXPECT_GE(estimate.held, 0.8 * held);
        if (kind.chunks > 0) { // zb_auto takes less where it can
          EXPECT_LE(estimate.held, 1.35 * held + 0.5);
        }
        bool splits = std::any_of(schedule.lists.begin(), schedule.lists.end(), [](const std::vector<Task> &tasks) {
          return std::any_of(tasks.begin(), tasks.end(), [](const Task &task) { return task.phase == Phase::W; });
        });
        EXPECT_EQ(kind.splitsBackward, splits);
      }
}

} // namespace npar::schedules
