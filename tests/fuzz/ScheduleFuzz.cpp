// A schedule's text is refused at a row and column that it has, or is a schedule that runs, and that comes back from the writer as it was.
#include "tests/fuzz/FuzzTargets.h"

#include "compiler/schedules/Simulate.h"
#include "compiler/schedules/Text.h"
#include "compiler/schedules/Validate.h"

#include <algorithm>
#include <string_view>

namespace npar::fuzz {

using namespace schedules;

void fuzzSchedule(const uint8_t *bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(bytes), size);
  for (Sending sending : {Sending::Rendezvous, Sending::Eager}) {
    ReadSchedule read = checkCsv(text, sending);
    int rows = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    for (const TextError &error : read.errors)
      check(!error.reason.empty() && error.at.row >= 1 && error.at.row <= rows && error.at.column >= 1);
    if (!read.errors.empty())
      continue;
    check(validate(read.schedule).empty());
    check(parseCsv(printCsv(read.schedule)).schedule == read.schedule);
    Simulation times = simulate(read.schedule, std::vector<StageCost>(read.schedule.stages()), 0.5);
    check(times.bubbleRate >= 0 && times.bubbleRate < 1);
  }
}

} // namespace npar::fuzz
