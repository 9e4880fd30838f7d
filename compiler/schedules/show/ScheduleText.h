// Writes a schedule as text and as JSON. Times are in the unit that --cost was given in.
#pragma once

#include "compiler/schedules/show/TimedSchedule.h"
#include "engine/json/JsonForward.h"

#include <string>

namespace npar::schedules {

/// A timeline of letters, one row per stage, as drawn above the schedules' functions, and a small table; the table alone when the drawing
/// would be wider than `width`.
std::string scheduleText(const TimedSchedule &schedule, size_t width = 320);

/// One object: kind, stages, microbatches, chunks, makespan, bubble_rate, peak_live, tasks, ok, errors. Where it cannot run, times
/// are null and there are no tasks.
OrderedJson scheduleJson(const TimedSchedule &schedule);

/// "1f1b: 4 stages, 8 micro-batches, 1 chunk per stage"
std::string scheduleTitle(const TimedSchedule &schedule);

/// `F3`, with its chunk after a dot where a stage has several.
std::string taskLabel(const Schedule &schedule, const Task &task);

} // namespace npar::schedules
