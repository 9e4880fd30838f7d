/* A checkpoint and a compiled program, saved and read back, continue with the same bits. */
#include "check.h"

int main(void) {
  npar_program *program = compiled();
  npar_trainer *one = trainerOf(program);
  for (int i = 0; i < 3; ++i)
    step(one);
  OK(npar_trainer_save(one, str("checkpoints"), &error));
  OK(npar_trainer_save_weights(one, str("weights.safetensors"), &error));
  char saved[33], other[33];
  OK(npar_trainer_hash(one, saved, &error));
  CHECK(strlen(saved) == 32);
  double next = step(one);

  OK(npar_program_save(program, str("hello.npx"), &error));
  npar_program *opened = NULL;
  OK(npar_program_open(str("hello.npx"), &opened, &error));
  CHECK(npar_program_bytes(opened).len == npar_program_bytes(program).len);
  npar_trainer *two = trainerOf(opened);
  OK(npar_trainer_resume(two, str("checkpoints"), &error));
  CHECK(npar_trainer_steps(two) == 3);
  OK(npar_trainer_hash(two, other, &error));
  CHECK(strcmp(saved, other) == 0);
  CHECK(step(two) == next);
  OK(npar_trainer_load_weights(two, str("weights.safetensors"), &error));
  OK(npar_trainer_hash(two, other, &error));
  CHECK(strcmp(saved, other) == 0);
  npar_trainer_free(two);

  /* Under another plan the same checkpoint gives the same parameters. */
  npar_request request = requestOf(hello);
  request.plan = str("none");
  npar_program *alone = NULL;
  OK(npar_compile(&request, &alone, &error));
  npar_trainer *three = trainerOf(alone);
  OK(npar_trainer_resume(three, str("checkpoints"), &error));
  OK(npar_trainer_hash(three, other, &error));
  CHECK(strcmp(saved, other) == 0);
  npar_trainer_free(three);
  npar_program_free(alone);
  npar_program_free(opened);
  npar_trainer_free(one);
  npar_program_free(program);
  return finish("resume");
}
