/* An observer ends a compilation after the part that it heard of. */
#include "check.h"

static int stopAtPhase(void *user, const npar_event *event) {
  *(int *)user += 1;
  return event->kind == NPAR_EVENT_PHASE && *(int *)user >= 3;
}

int main(void) {
  int heard = 0;
  npar_request request = requestOf(hello);
  request.observer.call = stopAtPhase, request.observer.user = &heard;
  npar_program *program = NULL;
  FAILS(NPAR_STOPPED, "", npar_compile(&request, &program, &error));
  CHECK(heard >= 3 && heard < 40 && !program); /* 52 phases are all of them */
  return finish("stop_compile");
}
