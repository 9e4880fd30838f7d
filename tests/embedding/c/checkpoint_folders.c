/* Trainings do not mix in a folder of checkpoints, a checkpoint can be saved before the first step, and the host hears of those that a run
 * writes and of none that it reads. */
#include "check.h"

#include <sys/stat.h>

typedef struct heard {
  int saved, skipped;
} heard;

static int hear(void *user, const npar_event *event) {
  heard *own = user;
  own->saved += event->kind == NPAR_EVENT_SAVED;
  own->skipped += event->kind == NPAR_EVENT_REMARK && has(event->text, "is skipped");
  return 0;
}

static npar_trainer *listening(npar_program *program, heard *to) {
  npar_trainer_options options = {0};
  options.struct_size = sizeof options, options.threads = 2;
  options.observer.call = hear, options.observer.user = to;
  npar_trainer *trainer = NULL;
  OK(npar_trainer_create(program, &options, &trainer, &error));
  return trainer;
}

static int isThere(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

static void saving(npar_program *program) {
  heard one = {0, 0}, two = {0, 0};
  npar_trainer *first = listening(program, &one), *second = listening(program, &two);
  OK(npar_trainer_save(first, str("s"), &error)); /* before the first step */
  CHECK(isThere("s/step-0/manifest.json") && one.saved == 1);
  step(first);
  OK(npar_trainer_save(first, str("s"), &error));
  OK(npar_trainer_save(first, str("./s/"), &error)); /* the same step, and the same folder */
  CHECK(isThere("s/step-1/manifest.json") && isThere("s/step-1.aside"));

  step(second);
  FAILS(NPAR_BAD_INPUT,
        "'s' contains checkpoints of a training, the newest of step 1: give 'resume' to continue from it, or name another folder",
        npar_trainer_save(second, str("s"), &error));
  OK(npar_trainer_save(second, str("t"), &error));
  OK(npar_trainer_resume(second, str("s"), &error));
  step(second);
  OK(npar_trainer_save(second, str("s"), &error));
  CHECK(isThere("s/step-2/manifest.json"));
  FAILS(NPAR_BAD_INPUT, "'s/step-2' is a checkpoint: give the folder that contains it", npar_trainer_save(second, str("s/step-2"), &error));

  npar_trainer *third = listening(program, &two); /* the checkpoint of step 0 counts as one */
  OK(npar_trainer_save(third, str("u"), &error));
  OK(npar_trainer_resume(first, str("u"), &error));
  CHECK(npar_trainer_steps(first) == 0);

  FILE *damaged = fopen("s/step-2/manifest.json", "w");
  CHECK(damaged);
  fputs("{", damaged);
  fclose(damaged);
  OK(npar_trainer_resume(first, str("s"), &error));
  CHECK(npar_trainer_steps(first) == 1 && one.skipped == 1);
  npar_trainer_free(first), npar_trainer_free(second), npar_trainer_free(third);
}

static void running(npar_program *program) {
  heard one = {0, 0};
  npar_trainer *first = trainerOf(program), *second = trainerOf(program);
  npar_run_options run = {0};
  run.struct_size = sizeof run, run.random_data = 1, run.steps = 2, run.checkpoint = str("r");
  run.observer.call = hear, run.observer.user = &one;
  npar_buffer *json = NULL;
  OK(npar_trainer_run(first, &run, &json, &error));
  npar_buffer_free(json);
  CHECK(one.saved == 1);
  run.steps = 4;
  FAILS(NPAR_BAD_INPUT, "the newest of step 2: give 'resume' to continue from it", npar_trainer_run(second, &run, &json, &error));
  run.resume = 1;
  OK(npar_trainer_run(second, &run, &json, &error));
  npar_buffer_free(json);
  CHECK(one.saved == 2 && npar_trainer_steps(second) == 4); /* and not 3: nothing was written at step 2 */

  run.checkpoint = str("s"), run.steps = 9, json = NULL;
  FAILS(NPAR_BAD_INPUT,
        "was trained with step(), whose data npar cannot find again\nhelp: ", npar_trainer_run(second, &run, &json, &error));
  FAILS(NPAR_BAD_INPUT, "load_weights = s/step-1", npar_trainer_run(second, &run, &json, &error));
  CHECK(!json);
  npar_trainer_free(first), npar_trainer_free(second);
}

int main(void) {
  npar_program *program = compiled();
  saving(program);
  running(program);
  npar_program_free(program);
  return finish("checkpoint_folders");
}
