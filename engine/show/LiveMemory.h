// Finds when the bytes of an arena are live, from the operands of the steps and the times of the tasks.
#pragma once

#include "engine/show/View.h"

namespace npar::show {

/// Fills `view.memory` of a class from its tasks' and steps' times, and sets the tasks' patterns.
///
/// A byte is live from the step that writes it to the end of the last step that reads it; variables live for the whole step. Time grows
/// with tasks and operands.
void findLiveMemory(const program::Program &program, const program::RankClass &rankClass, const std::vector<ViewLabel> &labels,
                    ClassView &view);

/// Converts a time to whole nanoseconds, by which changes are sorted: sums of seconds for the same moment may differ in their last bits.
int64_t nanoseconds(double seconds);

} // namespace npar::show
