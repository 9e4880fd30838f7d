// Checks the timelines drawn in the schedules' sources: each is drawn again from the schedule that its function returns, and compared.
#include "compiler/schedules/Simulate.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace npar::schedules {

namespace {

/// One row per stage, one cell per unit of time: F, B and W in capitals for chunk 0 and small for chunk 1, `--` while a task continues.
std::string draw(const Schedule &schedule, const Simulation &simulation) {
  std::string text;
  size_t width = static_cast<size_t>(simulation.timeline.makespan + 0.5);
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    std::vector<std::string> cells(width, "..");
    for (size_t i = 0; i < schedule.lists[stage].size(); ++i) {
      const Task &task = schedule.lists[stage][i];
      const cost::Span &span = simulation.timeline.spans[stage][i];
      for (int cell = static_cast<int>(span.begin + 0.5); cell + 0.5 < span.end; ++cell)
        cells[cell] = "--";
      char name = letter(task.phase);
      cells[static_cast<int>(span.begin + 0.5)] =
          static_cast<char>(task.chunk == 0 ? name : std::tolower(name)) + std::to_string(task.micro);
    }
    text += "//   stage " + std::to_string(stage) + " ";
    for (const std::string &cell : cells)
      text += " " + cell;
    text += "\n";
  }
  return text;
}

std::string draw(const std::string &kind, int stages, int micros, bool wholeBackward) {
  Request request;
  request.stages = stages;
  request.micros = micros;
  Made made = makeSchedule(*findSchedule(kind), request);
  EXPECT_EQ(made.refusal, "");
  double unit = made.schedule.chunks;
  double part = wholeBackward ? unit / 2 : unit;
  return draw(made.schedule, simulate(made.schedule, std::vector<StageCost>(stages, {unit, part, part})));
}

} // namespace

TEST(Drawing, InEachSourceIsWhatTheFunctionReturns) {
  std::regex title("//   (\\w+), (\\d+) stages, (\\d+) micro-batches, (F, B and W alike|a backward as long as a forward):");
  std::set<std::string> drawn;
  for (const auto &entry : std::filesystem::directory_iterator(NPAR_SCHEDULES)) {
    std::ifstream file(entry.path());
    std::smatch match;
    for (std::string line; std::getline(file, line);) {
      if (!std::regex_match(line, match, title))
        continue;
      ASSERT_NE(findSchedule(match[1].str()), nullptr) << match[1];
      std::string rows, expected = draw(match[1], std::stoi(match[2]), std::stoi(match[3]), match[4].str()[0] == 'a');
      drawn.insert(match[1]);
      std::getline(file, line); // an empty line
      while (std::getline(file, line) && line.rfind("//   stage", 0) == 0)
        rows += line + "\n";
      EXPECT_EQ(rows, expected) << entry.path();
    }
  }
  for (const ScheduleKind &kind : scheduleKinds())
    EXPECT_TRUE(drawn.count(kind.name)) << "no drawing of " << kind.name;
}

} // namespace npar::schedules
