// `npar inspect annotate`: a plan's own text with what each line does, written after it.
#pragma once

#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"

#include <string>

namespace npar::annotate {

/// The plan's text with remarks, or as JSON a list of {line, text, effects}. The model is compiled again without each clause that saves
/// memory, so that the saving is measured on planned arenas. Usage: a compiled program, or plan 'none'.
engine::Result<std::string> annotatedPlan(const models::ModelOptions &options, bool asJson, engine::Observer &observer);

} // namespace npar::annotate
