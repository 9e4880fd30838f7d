// The handler of SIGABRT: it sleeps, and then the process ends as ever.
#include "tools/npar/job/LateAbort.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>

namespace npar::driver {

namespace {

timespec patience;

void waitAWhile(int) {
  timespec left = patience;
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  std::signal(SIGABRT, SIG_DFL); // also for one that came from outside
  ::raise(SIGABRT);              // blocked until this function has returned
}

} // namespace

void abortLate(double seconds) {
  patience.tv_sec = static_cast<time_t>(seconds);
  patience.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  struct sigaction action = {};
  action.sa_handler = waitAWhile;
  ::sigaction(SIGABRT, &action, nullptr);
}

} // namespace npar::driver
