#include "engine/training/CopyParameters.h"

#include "engine/program/Elements.h"

namespace npar::training {

engine::Status copyParameters(const engine::Session &from, const program::Program &program, engine::Session &to) {
  for (const program::Variable *variable : *program.variables()) {
    if (variable->kind() != program::VariableKind::Parameter)
      continue;
    const std::string parameter = variable->name()->str();
    if (program::isWide(variable->type())) {
      TRY(std::vector<double> values, from.read(parameter));
      TRY_STATUS(to.write(parameter, values));
    } else {
      TRY(std::vector<float> values, from.readFloat(parameter));
      TRY_STATUS(to.writeFloat(parameter, values));
    }
  }
  return {};
}

} // namespace npar::training
