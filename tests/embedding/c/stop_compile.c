/* A compilation ends before the pass or kernel that its observer stops at, and nothing more is heard. A request to stop holds for later
 * calls. */
#include "check.h"

typedef struct seen {
  const char *stopAt; /* the phase whose name has these words */
  int after, phases;
  char last[64];
} seen;

static int stopAt(void *user, const npar_event *event) {
  seen *own = user;
  if (event->kind != NPAR_EVENT_PHASE)
    return 0;
  own->phases += 1;
  own->after += own->last[0] != 0;
  if (!has(event->text, own->stopAt))
    return 0;
  snprintf(own->last, sizeof own->last, "%.*s", (int)event->text.len, event->text.ptr);
  return 1;
}

static seen stoppedAt(const char *words) {
  seen own = {words, 0, 0, ""};
  npar_request request = requestOf(hello);
  request.observer.call = stopAt, request.observer.user = &own;
  npar_program *program = NULL;
  FAILS(NPAR_STOPPED, "the compilation was stopped", npar_compile(&request, &program, &error));
  CHECK(!program && own.last[0] && own.after == 0);
  return own;
}

int main(void) {
  seen first = stoppedAt("prepare-precision"), middle = stoppedAt("place-expand"), kernel = stoppedAt("kernel 2 of ");
  CHECK(first.phases < middle.phases && middle.phases < kernel.phases);
  stoppedAt("planning memory");
  stoppedAt("checking the program");

  npar_stop *stop = NULL;
  OK(npar_stop_create(&stop, &error));
  npar_request request = requestOf(hello);
  request.stop = stop;
  npar_program *program = NULL;
  OK(npar_compile(&request, &program, &error));
  npar_program_free(program);
  npar_stop_request(stop);
  for (int i = 0; i < 2; ++i)
    FAILS(NPAR_STOPPED, "the compilation was stopped", npar_compile(&request, &program, &error));
  request.text = str("model Wrong { y = x }");
  FAILS(NPAR_BAD_INPUT, "hello.npar:1", npar_compile(&request, &program, &error)); /* a text is read before anything is stopped */
  npar_stop_free(stop);
  npar_stop_request(NULL);
  return finish("stop_compile");
}
