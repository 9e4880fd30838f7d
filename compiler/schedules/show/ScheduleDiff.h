// Compares two schedules.
#pragma once

#include "compiler/schedules/show/TimedSchedule.h"
#include "engine/json/JsonForward.h"

#include <string>

namespace npar::schedules {

/// Two schedules side by side: order, live activations, messages, bubble. Both need `times`.
std::string diffText(const TimedSchedule &a, const TimedSchedule &b);
OrderedJson diffJson(const TimedSchedule &a, const TimedSchedule &b);

} // namespace npar::schedules
