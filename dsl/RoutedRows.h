// Counts the rows that `dispatch` makes of each position.
#pragma once

#include "dsl/Program.h"

#include <cstdint>
#include <map>
#include <string>

namespace npar::dsl {

/// The choices of a position, by the axis of its rows.
std::map<std::string, int64_t> choicesByRows(const Model &model);

} // namespace npar::dsl
