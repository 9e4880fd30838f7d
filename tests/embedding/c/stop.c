/* An observer ends a run; npar_trainer_stop ends a step. */
#include "check.h"

static int stopAtStep(void *user, const npar_event *event) {
  (void)user;
  return event->kind == NPAR_EVENT_STEP && event->step->step == 4;
}

int main(void) {
  npar_program *program = compiled();
  npar_trainer *trainer = trainerOf(program);
  npar_run_options run = {0};
  run.struct_size = sizeof run;
  run.steps = 100, run.random_data = 1;
  run.observer.call = stopAtStep;
  npar_buffer *json = NULL;
  FAILS(NPAR_STOPPED, "", npar_trainer_run(trainer, &run, &json, &error));
  CHECK(npar_trainer_steps(trainer) == 5);

  npar_trainer_stop(trainer);
  batch one;
  fill(&one);
  FAILS(NPAR_STOPPED, "", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  step(trainer); /* only one piece of work is ended */
  CHECK(npar_trainer_steps(trainer) == 6);
  npar_trainer_free(trainer);
  npar_program_free(program);
  return finish("stop");
}
