// The handler of SIGABRT: it sleeps, and then the process ends as ever.
#include "engine/control/LateAbort.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>

namespace npar::engine {

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

/// A thread begins with the signals blocked that its creator has.
std::thread threadWithoutAborts(std::function<void()> body) {
  sigset_t aborts, before;
  ::sigemptyset(&aborts);
  ::sigaddset(&aborts, SIGABRT);
  ::pthread_sigmask(SIG_BLOCK, &aborts, &before);
  std::thread thread(std::move(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

} // namespace npar::engine
