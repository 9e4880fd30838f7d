// Losses and metrics that an evaluation cannot give: nothing feeds the inputs that they need, or they mix the samples of a batch.
#pragma once

#include "dsl/Program.h"

#include <set>
#include <string>
#include <vector>

namespace npar::dsl {

struct UnfedMeasures {
  std::vector<std::string> measures; ///< "the loss", "loss 'words'", "metric 'right'"
  std::vector<std::string> inputs;   ///< inputs that they need but nothing feeds
};

/// Leaves out losses and metrics that need an input that is not in `fed`. Nodes stay: a compiler takes those that something needs.
UnfedMeasures leaveOutUnfed(Model &model, const std::set<std::string> &fed);

/// Leaves out losses and metrics that are computed from several samples together. Returns their names and places.
std::vector<std::pair<std::string, Location>> leaveOutMixed(Model &model);

} // namespace npar::dsl
