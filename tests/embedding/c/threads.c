/* Two threads compile, and train with trainers of one program, at the same time. */
#include "check.h"

#include <pthread.h>

static npar_program *shared;

static void *work(void *hash) {
  npar_program *own = compiled();
  npar_program_free(own);
  npar_trainer *trainer = trainerOf(shared);
  for (int i = 0; i < 20; ++i)
    step(trainer);
  OK(npar_trainer_hash(trainer, hash, &error));
  npar_trainer_free(trainer);
  return NULL;
}

int main(void) {
  shared = compiled();
  pthread_t threads[2];
  char hashes[2][33];
  for (int i = 0; i < 2; ++i)
    CHECK(pthread_create(&threads[i], NULL, work, hashes[i]) == 0);
  for (int i = 0; i < 2; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(strcmp(hashes[0], hashes[1]) == 0);
  npar_program_free(shared);
  return finish("threads");
}
