// Finds masters among the variables of a program.
#include "engine/program/Masters.h"

namespace npar::program {

bool isMaster(const Variable &variable) {
  return variable.kind() == VariableKind::State && variable.of() >= 0 && variable.slot()->str() == "master";
}

int64_t masterOf(const Program &program, uint32_t parameter) {
  for (uint32_t i = 0; i < program.variables()->size(); ++i)
    if (isMaster(*program.variables()->Get(i)) && program.variables()->Get(i)->of() == static_cast<int32_t>(parameter))
      return i;
  return -1;
}

} // namespace npar::program
