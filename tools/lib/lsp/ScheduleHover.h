// The drawn timeline of a schedule that a plan names.
#pragma once

#include <string>

namespace npar::lsp {

/// The timeline as text; empty if there is no schedule of that name, or it cannot be made for these numbers. `chunks`: 0 for its own.
std::string drawnSchedule(const std::string &name, int stages, int micros, int chunks);

} // namespace npar::lsp
