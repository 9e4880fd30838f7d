/* An observer ends a compilation after the part that it stops at. */
#include "check.h"

static int stopAtSecondKernel(void *user, const npar_event *event) {
  *(int *)user += 1;
  return event->kind == NPAR_EVENT_PHASE && has(event->text, "kernel 2 of ");
}

int main(void) {
  int heard = 0;
  npar_request request = requestOf(hello);
  request.observer.call = stopAtSecondKernel, request.observer.user = &heard;
  npar_program *program = NULL;
  FAILS(NPAR_STOPPED, "", npar_compile(&request, &program, &error));
  CHECK(heard > 3 && heard < 40 && !program); /* the other 22 kernels were not begun */
  return finish("stop_compile");
}
