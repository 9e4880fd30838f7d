// The inspector's page: one HTML file that needs nothing else, with the data of one or more views inside.
#pragma once

#include "engine/show/View.h"

namespace npar::show {

/// The page's text. All views share one time axis, the first on top. The template is engine/show/page/.
std::string viewPage(const std::vector<const View *> &views);

/// The data inside, as page.js reads it: JSON without a '<', so that no name can end the script element around it.
///
/// {looks: {phases, collective, transfer, memory}, views: [{title, origin, schedule, span, bubble, labels: [[text, path, file, line,
/// column]], classes: [{name, ranks, stage, arena, bubble, balance, peak: {bytes, at, tensors}, always, atStart, fragments: [{name, phase,
/// chunk, steps: [[kind, label, begin, end, bytes, flops, [dependencies], message]]}], tasks: [fragment, micro, begin, end, pattern, ...],
/// patterns: [[at, kind, bytes, ...]], waits: [[fragment, step, onFragment, onStep, distance, firstMicro, lastMicro]]}]}]}
///
/// Times are whole nanoseconds. Repeated data is written once: steps per fragment, memory per pattern, waits per run of micro-batches.
std::string pageData(const std::vector<const View *> &views);

} // namespace npar::show
