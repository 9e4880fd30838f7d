// Mutates the communication of a compiled program at random and prints the score of the checks:
//
//   npar_mutate_program FILE.npx MUTANTS SEED
//
// Exit code 0: every mutant that can hang was refused, and every cycle hangs; 3: not so; 1: no good program; 2: usage.
#include "tests/engine/program/Mutation.h"

#include "engine/program/Verify.h"
#include "tests/engine/program/Simulation.h"

#include <cstdlib>
#include <iostream>

using namespace npar::program;

int main(int count, char **arguments) {
  if (count != 4) {
    std::cerr << "usage: npar_mutate_program FILE.npx MUTANTS SEED\n";
    return 2;
  }
  auto loaded = LoadedProgram::fromFile(arguments[1]);
  if (!loaded.ok()) {
    std::cerr << loaded.status().message() << '\n';
    return 1;
  }
  uint32_t mutants = std::strtoul(arguments[2], nullptr, 10), seed = std::strtoul(arguments[3], nullptr, 10);
  std::mt19937 chance(seed);
  ProgramT good;
  (*loaded)->root().UnPackTo(&good);
  good.codes.clear(); // nothing runs here
  Packed base(good);
  if (Simulated outcome = simulate(base.root(), chance); outcome.fate != Fate::Ends) {
    std::cerr << "the program hangs: " << outcome.why << '\n';
    return 3;
  }
  Score score;
  while (score.mutants < mutants) {
    ProgramT mutant;
    base.root().UnPackTo(&mutant);
    std::string what = mutate(mutant, chance);
    Packed packed(mutant);
    score.add(packed.root(), what, chance);
  }
  for (const std::string &missed : score.missed)
    std::cerr << missed << '\n';
  std::cout << score.text() << " (seed " << seed << ")\n";
  return score.missed.empty() ? 0 : 3;
}
