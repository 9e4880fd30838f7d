// Starts a thread with SIGABRT blocked.
#include "engine/control/ThreadWithoutAborts.h"

#include <csignal>

namespace npar::engine {

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
