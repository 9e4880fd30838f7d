// Orders of forwards and backwards for two chunks per stage, down the stages and back.
#include "compiler/schedules/VShape.h"

#include "compiler/schedules/Build.h"
#include "compiler/schedules/FillWeights.h"

#include <algorithm>

namespace npar::schedules {

Schedule vOrder(int stages, int micros, const VSlack &slack) {
  auto ahead = [](int hops, double share) { return hops + static_cast<int>(hops * share + 0.5); };
  // Enough for every stage to fill up; those that are not there go at the end.
  int all = std::max(micros, ahead(stages, slack.down) + ahead(stages, slack.turn) + ahead(stages, slack.up));
  Schedule schedule{"", all, 2, vPlacement(stages), {}};
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<Task> tasks;
    int next[2][2] = {{0, 0}, {0, 0}}; // phase, chunk
    auto run = [&](Phase phase, int chunk) {
      int &micro = next[static_cast<int>(phase)][chunk];
      if (micro < all)
        tasks.push_back({phase, micro++, chunk});
    };
    int after = stages - 1 - stage, up = 1 + ahead(after, slack.up), down = up + ahead(after, slack.down);
    for (int i = 0; i < down; ++i)
      run(Phase::F, 0);
    for (int i = 0; i < ahead(stage, slack.turn); ++i) {
      run(Phase::F, 1);
      run(Phase::F, 0);
    }
    for (int i = 0; i < up; ++i) {
      run(Phase::F, 1);
      run(Phase::B, 1);
    }
    for (int i = 0; i < all; ++i) {
      run(Phase::F, 0);
      run(Phase::B, 0);
      run(Phase::F, 1);
      run(Phase::B, 1);
    }
    schedule.lists.push_back(tasks);
  }
  return keepFirst(schedule, micros);
}

namespace {

constexpr int period = 6; ///< F, B and W of two chunks

/// Start times of a stage's tasks of micro-batch 0: F of chunk 0, F of chunk 1, B of chunk 1, B of chunk 0.
using Starts = std::array<int, 4>;

bool collide(const Starts &starts) {
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < a; ++b)
      if ((starts[a] - starts[b]) % period == 0)
        return true;
  return false;
}

/// The start times of each stage; empty if tasks collide with these waits at the turns.
std::vector<Starts> place(int stages, const std::array<int, 4> &hops, const std::array<int, 3> &waits) {
  std::vector<Starts> result(stages);
  int begin = 0;
  for (int leg = 0; leg < 4; ++leg) {
    for (int hop = 0; hop < stages; ++hop)
      result[leg % 2 == 0 ? hop : stages - 1 - hop][leg] = begin + hop * hops[leg];
    if (leg < 3)
      begin += (stages - 1) * hops[leg] + 1 + waits[leg];
  }
  return std::any_of(result.begin(), result.end(), collide) ? std::vector<Starts>() : result;
}

/// Starts of the four hops of a micro-batch with the least waits at the turns.
std::vector<Starts> place(int stages, const std::array<int, 4> &hops) {
  for (int sum = 0; sum <= 3 * period; ++sum)
    for (int first = 0; first <= sum; ++first)
      for (int second = 0; first + second <= sum; ++second) {
        std::vector<Starts> starts = place(stages, hops, {first, second, sum - first - second});
        if (!starts.empty())
          return starts;
      }
  return {};
}

} // namespace

Schedule vBlock(int stages, int micros, const std::array<int, 4> &hops) {
  std::vector<Starts> starts = place(stages, hops);
  if (starts.empty())
    return {};
  const Task block[] = {{Phase::F, 0, 0}, {Phase::F, 0, 1}, {Phase::B, 0, 1}, {Phase::B, 0, 0}};
  Schedule schedule{"", micros, 2, vPlacement(stages), {}};
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<std::pair<int, Task>> tasks; // start
    for (int micro = 0; micro < micros; ++micro)
      for (int leg = 0; leg < 4; ++leg)
        tasks.push_back({starts[stage][leg] + period * micro, {block[leg].phase, micro, block[leg].chunk}});
    std::sort(tasks.begin(), tasks.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    schedule.lists.emplace_back();
    for (const auto &[start, task] : tasks)
      schedule.lists.back().push_back(task);
  }
  return schedule;
}

Schedule vBlockWithWeights(const Request &request, const char *kind, const std::array<int, 4> &hops, int held) {
  Schedule schedule = vBlock(request.stages, request.micros, hops);
  schedule.kind = kind;
  schedule.lists = fillWeights(schedule, schedule.chunks * held);
  return schedule;
}

} // namespace npar::schedules
