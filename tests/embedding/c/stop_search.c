/* Verifying, simulating and planning end when an observer or a signal handler wants it; a search tells its candidates. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/time.h>

static npar_stop *stop;
static volatile sig_atomic_t rang;

static void ring(int signal) {
  (void)signal;
  rang = 1;
  npar_stop_request(stop);
}

typedef struct seen {
  int candidates, fitting, refused, events, stopAfter; /* events until it wants to stop; 0: never */
} seen;

static int watch(void *user, const npar_event *event) {
  seen *own = user;
  if (event->kind == NPAR_EVENT_CANDIDATE) {
    const npar_candidate *one = event->candidate;
    CHECK(one && one->struct_size == sizeof *one && event->text.len > 0 && has(one->plan, "plan "));
    CHECK(one->refusal.len > 0 || (one->milliseconds > 0 && one->bytes > 0));
    own->candidates += 1, own->fitting += one->fits, own->refused += one->refusal.len > 0;
  }
  return ++own->events == own->stopAfter;
}

static npar_request watched(seen *own) {
  npar_request request = requestOf(hello);
  request.machine = str("dgx-a100");
  request.observer.call = watch, request.observer.user = own;
  return request;
}

static npar_plan_options fewPlans(void) {
  npar_plan_options options = {0};
  options.struct_size = sizeof options, options.jobs = 2, options.batch = 16, options.budget = 4;
  return options;
}

/* The request of `ring`, in a quarter of a second. */
static void ringSoon(void) {
  struct itimerval soon = {{0, 0}, {0, 250000}};
  CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

int main(void) {
  npar_buffer *json = NULL;
  seen all = {0};
  npar_request request = watched(&all);
  npar_plan_options options = fewPlans();
  OK(npar_plan(&request, &options, &json, &error));
  CHECK(all.candidates > 1 && all.fitting > 0 && all.fitting + all.refused <= all.candidates);
  npar_buffer_free(json);

  seen some = {0};
  some.stopAfter = 3;
  request = watched(&some);
  FAILS(NPAR_STOPPED, "stopped", npar_plan(&request, &options, &json, &error));
  CHECK(some.events >= 3 && some.candidates < all.candidates);
  some.events = 0;
  FAILS(NPAR_STOPPED, "stopped", npar_simulate(&request, NULL, &json, &error));
  some.events = 0;
  FAILS(NPAR_STOPPED, "stopped", npar_verify(&request, NULL, &json, &error));

  OK(npar_stop_create(&stop, &error));
  struct sigaction action = {0};
  action.sa_handler = ring;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  npar_request long_ = requestOf(hello);
  long_.machine = str("dgx-a100"), long_.stop = stop;
  npar_simulate_options samples = {0};
  samples.struct_size = sizeof samples, samples.jitter = 0.05, samples.jitter_samples = 1000000;
  ringSoon();
  FAILS(NPAR_STOPPED, "stopped", npar_simulate(&long_, &samples, &json, &error));
  CHECK(rang);
  npar_stop_free(stop);
  return finish("stop_search");
}
