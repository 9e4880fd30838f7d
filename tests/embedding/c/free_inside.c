/* An observer frees the trainer that is running: the run ends after its step, and the memory goes after the run. It may not use it. */
#include "check.h"

typedef struct seen {
  npar_trainer *trainer;
  int steps;
  npar_code inside;
} seen;

static int freeAtThird(void *user, const npar_event *event) {
  seen *own = user;
  if (event->kind != NPAR_EVENT_STEP || ++own->steps != 3)
    return 0;
  char hash[33];
  own->inside = npar_trainer_hash(own->trainer, hash, NULL);
  npar_trainer_free(own->trainer);
  return 0;
}

int main(void) {
  npar_program *program = compiled();
  seen own = {trainerOf(program), 0, NPAR_OK};
  npar_program_free(program);
  npar_run_options run = {0};
  run.struct_size = sizeof run;
  run.steps = 100, run.random_data = 1;
  run.observer.call = freeAtThird, run.observer.user = &own;
  npar_buffer *json = NULL;
  FAILS(NPAR_STOPPED, "", npar_trainer_run(own.trainer, &run, &json, &error));
  CHECK(own.steps == 3 && own.inside == NPAR_USAGE);
  return finish("free_inside");
}
