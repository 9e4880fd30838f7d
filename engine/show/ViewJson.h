// The inspector's findings as JSON, added to the summary's object.
#pragma once

#include "engine/json/Json.h"
#include "engine/show/View.h"

namespace npar::show {

/// Adds `schedule, span_seconds, bubble` to the summary, and to each class `stage, busy_seconds, collective_seconds, bubble, balance,
/// live_peak_bytes, live_peak_seconds, live_peak: [{kind, name, bytes, count, source}], live_memory: [[seconds, bytes]],
/// causes: [{kind, over, phase, count, bytes, path, source, cause, reason}], tasks: [{name, phase, chunk, micro_index, begin, end}]`.
/// `summary.classes` must be those of the program that the view is of, in its order.
void addView(OrderedJson &summary, const View &view);

/// Why a collective is there, as data: `{kind, operation, variable, axes: [{axis, rule}], mesh_axis, store}`, as Program.fbs explains them.
OrderedJson reasonJson(const program::CauseT &cause);

/// `{title, span_seconds, bubble, classes: [{stage, bubble, balance, live_peak_bytes}]}` of a view to compare with.
OrderedJson comparedJson(const View &view);

} // namespace npar::show
