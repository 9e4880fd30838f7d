/* Trains from arrays in this program's memory. */
#include "check.h"

int main(void) {
  OK(npar_check_abi(NPAR_ABI, &error));
  FAILS(NPAR_USAGE, "interface version", npar_check_abi(NPAR_ABI + 0x10000u, &error));
  npar_program *program = compiled();
  npar_trainer *trainer = trainerOf(program);
  double first = step(trainer), last = first;
  for (int i = 1; i < 100; ++i)
    last = step(trainer);
  CHECK(first > 3 && first < 4); /* about ln 32 */
  CHECK(last < 0.6 * first);
  CHECK(npar_trainer_steps(trainer) == 100);
  npar_trainer_free(trainer);
  npar_program_free(program);
  return finish("train");
}
