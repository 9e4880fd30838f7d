// The registry of schedules in the front end's words.
#include "compiler/import/KnownSchedules.h"

#include "compiler/schedules/Text.h"

namespace npar::compiler {

static dsl::ScheduleText readSchedule(const std::string &text) {
  schedules::ReadSchedule read = schedules::checkCsv(text);
  dsl::ScheduleText result{read.schedule.stages(), read.schedule.micros, read.schedule.chunks, read.communications, {}};
  for (const schedules::TextError &error : read.errors)
    result.errors.push_back({static_cast<uint32_t>(error.at.row), static_cast<uint32_t>(error.at.column),
                             static_cast<uint32_t>(error.at.length), error.reason, error.ofCommunication});
  return result;
}

dsl::KnownSchedules knownSchedules() {
  dsl::KnownSchedules known{{}, "1f1b", readSchedule};
  for (const schedules::ScheduleKind &kind : schedules::scheduleKinds())
    known.kinds.push_back({kind.name, kind.chunks, kind.anyChunks, kind.microsPerStage});
  return known;
}

} // namespace npar::compiler
