// Names what a program computes in.
#include "engine/program/Compute.h"

#include "engine/program/Words.h"

#include <algorithm>

namespace npar::program {

bool multipliesInTf32(const Program &program) {
  return std::any_of(program.matmuls()->begin(), program.matmuls()->end(), [](const Matmul *matmul) { return matmul->tf32(); });
}

const char *computeWord(const Program &program) { return multipliesInTf32(program) ? "tf32" : wordOf(program.compute()); }

} // namespace npar::program
