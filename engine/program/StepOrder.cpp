// Builds the reachability of a compiled fragment from its dependency lists.
#include "engine/program/StepOrder.h"

#include "engine/program/Program_generated.h"

namespace npar::program {

StepOrder::StepOrder(const Fragment &fragment) : StepOrder(fragment.steps()->size()) {
  for (uint32_t index = 0; index < fragment.steps()->size(); ++index) {
    const Step *step = fragment.steps()->Get(index);
    for (uint32_t i = 0; i < step->dependency_count(); ++i)
      add(index, fragment.dependencies()->Get(step->first_dependency() + i));
  }
}

} // namespace npar::program
