// Cuts simulated tasks into columns.
#include "tools/lib/planner/search/CompactTimeline.h"

#include "engine/show/Legend.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace npar::planner {

namespace {

constexpr size_t phases = static_cast<size_t>(program::Phase::MAX) + 1;

std::string laneOf(const program::RankClass &rankClass, const std::vector<cost::Span> &spans, double seconds) {
  std::vector<std::array<double, phases>> columns(laneColumns); // shares of each
  for (uint32_t index = 0; index < spans.size() && seconds > 0; ++index) {
    auto phase = static_cast<size_t>(rankClass.fragments()->Get(rankClass.tasks()->Get(index)->fragment())->phase());
    double begin = spans[index].begin / seconds * laneColumns,
           end = std::min<double>(spans[index].end / seconds * laneColumns, laneColumns);
    for (auto column = static_cast<int>(begin); column < laneColumns && column < end; ++column)
      columns[static_cast<size_t>(column)][phase] += std::min(end, column + 1.0) - std::max<double>(begin, column);
  }
  std::string lane;
  char last = 0;
  int length = 0;
  auto close = [&] {
    if (length > 0)
      lane += fmt::format("{}{}", last, length);
  };
  for (const std::array<double, phases> &column : columns) {
    double busy = 0;
    for (double share : column)
      busy += share;
    auto most = static_cast<size_t>(std::max_element(column.begin(), column.end()) - column.begin());
    char letter = busy < 0.5 ? '-' : show::lookOf(static_cast<program::Phase>(most)).letter;
    if (letter != last)
      close(), last = letter, length = 0;
    ++length;
  }
  close();
  return lane;
}

} // namespace

std::vector<std::string> compactTimeline(const program::Program &program, const cost::Simulation &simulation, size_t most) {
  std::map<uint32_t, uint32_t> classes; // the first of each stage
  for (uint32_t index = 0; index < program.classes()->size(); ++index)
    classes.emplace(program.classes()->Get(index)->stage(), index);
  std::vector<uint32_t> chosen;
  for (const auto &[stage, index] : classes)
    chosen.push_back(index);
  std::vector<std::string> lanes;
  size_t count = std::min(most, chosen.size());
  for (size_t lane = 0; lane < count; ++lane) {
    uint32_t index = chosen[count > 1 ? lane * (chosen.size() - 1) / (count - 1) : 0];
    lanes.push_back(laneOf(*program.classes()->Get(index), simulation.tasks[index], simulation.seconds));
  }
  return lanes;
}

} // namespace npar::planner
