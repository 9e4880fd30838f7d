// `npar inspect annotate`: a plan's own text with what each line does, written after it.
#pragma once

#include "tools/npar/model/ModelOptions.h"
#include "tools/npar/terminal/ExitCode.h"

namespace npar::annotate {

/// Prints the plan's text, or as JSON a list of {line, text, effects}. Clauses that save memory are compiled once more without them, so
/// that what they save is measured on the planned arenas.
driver::ExitCode annotatePlan(const driver::ModelOptions &options, bool asJson);

} // namespace npar::annotate
