// Finds the x86 features of this processor and its operating system, by LLVM's names, and refuses processors that are too old.
#pragma once

#include "engine/status/Status.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::engine {

/// The level of the x86-64 ABI that npar needs, and what it has beyond x86-64 by LLVM's names.
constexpr const char *oldestLevel = "x86-64-v2";
const std::vector<std::string> &featuresOfOldestLevel();

/// Tells whether the processor has the feature and the system saves its registers. Nothing for a name that is not in the table.
std::optional<bool> hasFeature(std::string_view name);

/// Refuses processors older than `oldestLevel`, with the features that they lack. `has` is another processor's, for tests.
Status checkProcessor(std::optional<bool> (*has)(std::string_view) = hasFeature);

} // namespace npar::engine
