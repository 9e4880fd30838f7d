// Draws schedules up to a size that fits an editor.
#include "tools/lib/lsp/ScheduleHover.h"

#include "compiler/schedules/show/ScheduleText.h"
#include "tools/lib/schedules/ScheduleRequest.h"

#include <algorithm>

namespace npar::lsp {

std::string drawnSchedule(const std::string &name, int stages, int micros, int chunks) {
  constexpr int mostStages = 16, mostMicros = 32; // more would not be read
  if (schedules::namesFile(name))
    return "";
  engine::Observer unheard;
  schedules::ScheduleRequest request;
  request.kind = name;
  request.stages = std::min(stages, mostStages), request.micros = std::min(micros, mostMicros), request.chunks = chunks;
  engine::Result<schedules::TimedSchedule> schedule = schedules::loadSchedule(request, unheard);
  if (!schedule.ok() || !schedule->times)
    return "";
  std::string text = schedules::scheduleText(*schedule, /*width=*/140);
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

} // namespace npar::lsp
