// Writes a run of another program as text of npar's: a configuration of the model, a train block and a plan.
#pragma once

#include "tools/lib/foreign/ForeignRun.h"

namespace npar::foreign {

/// The model that the plan is for, as its own text has it.
struct ForeignTarget {
  std::string import;              ///< as `import` takes it
  std::string name;                ///< "Gpt2"
  std::vector<std::string> axes;   ///< that operations loop over
  std::vector<std::string> chains; ///< labels of repeats
};

/// What `--plan`, `--train` and `--config` call what is written.
const char *planNameOf(ForeignFormat format);

std::string planText(const ForeignRun &run, const ForeignTarget &target, const std::string &path);

} // namespace npar::foreign
