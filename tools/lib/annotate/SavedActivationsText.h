// Lists the activations that the backward of a micro-batch needs from the forward, as a table for people and as JSON.
#pragma once

#include "compiler/memory/SavedActivations.h"
#include "engine/json/JsonForward.h"

#include <string>

namespace npar::annotate {

/// Blocks that keep the same are one row.
std::string savedText(const memory::SavedActivations &saved);
OrderedJson savedJson(const memory::SavedActivations &saved);

} // namespace npar::annotate
