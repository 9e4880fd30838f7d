// Which bytes of an arena are live when: from the operands of the steps and the times of the tasks.
#pragma once

#include "engine/show/View.h"

namespace npar::show {

/// Fills `view.memory` of a class from its tasks' and steps' times, and sets the tasks' patterns.
///
/// A byte is live from the step that writes it to the end of the last step that reads it; variables live for the whole step. Time grows
/// with tasks and operands.
void findLiveMemory(const program::Program &program, const program::RankClass &rankClass, const std::vector<ViewLabel> &labels,
                    ClassView &view);

/// By which changes are put in order: sums of seconds that stand for one moment may differ in their last bits.
int64_t nanoseconds(double seconds);

} // namespace npar::show
