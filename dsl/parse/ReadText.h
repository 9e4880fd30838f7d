// Files as sources: plans and models, and the schedules that plans name.
#pragma once

#include "dsl/Diagnostics.h"

namespace npar::dsl {

constexpr size_t maximumText = 1 << 20; ///< bytes of a file of .npar text

/// Reads a whole file of at most `most` bytes as the source `index`, called `name` in messages. Reports, at `from`, when it cannot be read,
/// and returns false.
bool readText(const std::string &path, uint32_t &index, const std::string &name, Location from, Sources &sources, Diagnostics &diagnostics,
              size_t most = maximumText);

} // namespace npar::dsl
