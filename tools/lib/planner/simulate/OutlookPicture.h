// Draws a simulated step for people: a picture, a trace, a page.
#pragma once

#include "tools/lib/planner/simulate/Outlook.h"

#include <string>

namespace npar::planner {

enum class PictureKind {
  Svg,
  Trace, ///< JSON for Perfetto and chrome://tracing
  Page   ///< HTML; with slow ranks or links the undisturbed step, too
};

std::string pictureOf(PictureKind kind, const program::Program &program, const Outlook &outlook);

} // namespace npar::planner
