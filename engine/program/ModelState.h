// States of a model: parameters that the optimizer does not move. The model's text updates them once per step.
#pragma once

#include "engine/program/Program_generated.h"

#include <string_view>

namespace npar::program {

/// Variable.slot of such a parameter.
constexpr std::string_view modelStateSlot = "state";

inline bool isModelState(const Variable &variable) {
  return variable.kind() == VariableKind::Parameter && variable.slot()->string_view() == modelStateSlot;
}

} // namespace npar::program
