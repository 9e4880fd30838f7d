// Ways to share a training among ranks that have different samples, by name: what `npar sweep --ways` compares.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::planner {

/// The name under which the ways are a setting of a sweep.
constexpr const char *waySetting = "way";

/// The names, in the order of the documents.
std::vector<std::string> wayNames();

/// The settings that a way stands for, such as {"zero=0", "central=true"} for dp. Usage: there is no such way.
engine::Result<std::vector<std::string>> settingsOfWay(const std::string &name);

} // namespace npar::planner
