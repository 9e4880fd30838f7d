/* Compiling, verifying and training change nothing of the process: handlers, signal mask, limits, environment, folder, locale, rounding. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

typedef struct state {
  void (*handlers[NSIG])(int);
  int flags[NSIG]; /* of the handlers */
  struct rlimit limits[RLIMIT_NLIMITS];
  sigset_t mask;
  mode_t creation;
  int rounding;
  char folder[4096], locale[256], environment[65536];
} state;

static void look(state *to) {
  memset(to, 0, sizeof *to);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {0};
    sigaction(signal, NULL, &action);
    to->handlers[signal] = action.sa_handler, to->flags[signal] = action.sa_flags;
  }
  for (int limit = 0; limit < RLIMIT_NLIMITS; ++limit)
    getrlimit(limit, &to->limits[limit]);
  sigprocmask(SIG_SETMASK, NULL, &to->mask);
  to->creation = umask(0);
  umask(to->creation);
  to->rounding = fegetround();
  CHECK(getcwd(to->folder, sizeof to->folder));
  snprintf(to->locale, sizeof to->locale, "%s", setlocale(LC_ALL, NULL));
  size_t used = 0;
  for (char **one = environ; *one; ++one)
    used += (size_t)snprintf(to->environment + used, sizeof to->environment - used, "%s\n", *one);
}

static state before, after;

int main(void) {
  CHECK(setenv("MINE", "1", 1) == 0);
  CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
  look(&before);
  npar_request request = requestOf(hello);
  npar_buffer *json = NULL;
  OK(npar_verify(&request, NULL, &json, &error));
  npar_buffer_free(json);
  npar_program *program = compiled();
  npar_trainer *trainer = trainerOf(program);
  look(&after); /* also while workers are there */
  CHECK(memcmp(&before, &after, sizeof before) == 0);
  npar_run_options run = {0};
  run.struct_size = sizeof run, run.random_data = 1, run.steps = 3;
  OK(npar_trainer_run(trainer, &run, &json, &error));
  npar_buffer_free(json);
  OK(npar_trainer_save(trainer, str("saved"), &error));
  npar_trainer_free(trainer);
  npar_program_free(program);
  look(&after);
  CHECK(memcmp(&before, &after, sizeof before) == 0);
  return finish("process_state");
}
