#include "tools/lib/models/DeviceTargets.h"

#include "compiler/Compiler.h"
#include "dsl/Suggestions.h"
#include "engine/readable/Printable.h"
#include "engine/status/OptionNames.h"

#include <algorithm>

namespace npar::models {

using engine::Option;
using engine::Status;

Status checkTargets(const std::vector<std::string> &targets) {
  const std::vector<std::string> known = compiler::deviceTargets();
  for (auto target = targets.begin(); target != targets.end(); ++target) {
    if (std::find(known.begin(), known.end(), *target) == known.end())
      return Status::usage(nameOf(Option::Targets) + " names '" + readable::printableName(*target) + "': npar makes kernels for " +
                           dsl::joined(known, "and"));
    if (std::find(targets.begin(), target, *target) != target)
      return Status::usage(nameOf(Option::Targets) + " names '" + *target + "' twice");
  }
  return {};
}

} // namespace npar::models
