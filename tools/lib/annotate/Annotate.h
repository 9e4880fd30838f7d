// `npar inspect annotate`: a plan's own text with what each line does, written after it.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::annotate {

struct AnnotatedLine {
  uint32_t line = 0; ///< number in the plan's file
  std::string text;
  std::vector<std::string> effects;
};

struct AnnotatedPlan {
  std::string name, file;
  std::vector<AnnotatedLine> lines; ///< of the plan's declaration
};

/// The model is compiled again without each clause that saves memory, so that the saving is measured on planned arenas. Usage: a compiled
/// program, or plan 'none'.
engine::Result<AnnotatedPlan> annotatePlan(const models::ModelOptions &options, engine::Observer &observer);

/// The plan's text with the effects after each line.
std::string annotatedText(const AnnotatedPlan &plan);
/// The object {plan, file, lines: [{line, text, effects}]}.
OrderedJson annotatedJson(const AnnotatedPlan &plan);

} // namespace npar::annotate
