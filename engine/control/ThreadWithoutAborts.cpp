// Starts a thread with SIGABRT blocked.
#include "engine/control/ThreadWithoutAborts.h"

#include "engine/files/BlockedSignals.h"

#include <csignal>

namespace npar::engine {

/// A thread begins with the signals blocked that its creator has.
std::thread threadWithoutAborts(std::function<void()> body) {
  sigset_t aborts;
  ::sigemptyset(&aborts);
  ::sigaddset(&aborts, SIGABRT);
  files::BlockedSignals blocked(aborts);
  return std::thread(std::move(body));
}

} // namespace npar::engine
