// States of a model: parameters that the optimizer does not move. The model's text updates them once per step.
#pragma once

#include "engine/program/Program_generated.h"

#include <string_view>

namespace npar::program {

/// Variable.slot of such a parameter, and of one that holds whole numbers. Files of other programs have these as I64.
constexpr std::string_view modelStateSlot = "state", modelCountSlot = "count";

inline bool isModelCount(const Variable &variable) {
  return variable.kind() == VariableKind::Parameter && variable.slot()->string_view() == modelCountSlot;
}

inline bool isModelState(const Variable &variable) {
  return isModelCount(variable) || (variable.kind() == VariableKind::Parameter && variable.slot()->string_view() == modelStateSlot);
}

} // namespace npar::program
