// Looks at the products and the variables of a program.
#include "engine/program/Precision.h"

#include "engine/program/Words.h"

#include <algorithm>

namespace npar::program {

bool multipliesInTf32(const Program &program) {
  return std::any_of(program.matmuls()->begin(), program.matmuls()->end(), [](const Matmul *matmul) { return matmul->tf32(); });
}

bool multipliesBf16(const Program &program) {
  auto isBf16 = [](const auto *each) { return each->type() == ElementType::BF16; };
  return std::any_of(program.matmuls()->begin(), program.matmuls()->end(), isBf16) ||
         std::any_of(program.attentions()->begin(), program.attentions()->end(), isBf16);
}

const char *computeWord(const Program &program) { return multipliesInTf32(program) ? "tf32" : wordOf(program.compute()); }

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
