// JSON that was written elsewhere, as a tree: nesting, number of values and equal names are checked while it is read.
#pragma once

#include "engine/json/Json.h"
#include "engine/status/Status.h"

#include <string>

namespace npar::engine {

struct JsonLimits {
  size_t depth = 16;
  size_t values = 8'000'000; ///< lists and objects included; a manifest of its greatest size has no more
};

/// Throws nothing. The error begins in the middle of a sentence: "no valid JSON at byte 17", "the name 'step' occurs twice".
Result<Json> parseJsonTree(const std::string &text, const JsonLimits &limits = {});

} // namespace npar::engine
