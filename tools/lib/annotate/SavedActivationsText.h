// Lists the activations that the backward of a micro-batch needs from the forward, as a table for people and as JSON.
#pragma once

#include "compiler/memory/SavedActivations.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace npar::annotate {

/// Blocks that keep the same are one row.
std::string savedText(const memory::SavedActivations &saved);
nlohmann::ordered_json savedJson(const memory::SavedActivations &saved);

} // namespace npar::annotate
