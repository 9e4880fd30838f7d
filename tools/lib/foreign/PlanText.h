// Writes another program's run as npar text: a configuration of the model, a train block and a plan.
#pragma once

#include "tools/lib/foreign/ForeignRun.h"

namespace npar::foreign {

/// The model that the plan is for, with names from its text.
struct ForeignTarget {
  std::string import;               ///< argument of `import`
  std::string name;                 ///< "Gpt2"
  std::vector<std::string> axes;    ///< axes that operations loop over
  std::vector<std::string> chains;  ///< labels of repeats
  std::vector<std::string> blocks;  ///< paths of their blocks, with "{}" for the number
  std::vector<std::string> vectors; ///< patterns of the parameters of one dimension
};

/// Plan, train block and configuration have the program's key as their name.
std::string planText(const ForeignRun &run, const ForeignTarget &target, const std::string &path);

} // namespace npar::foreign
