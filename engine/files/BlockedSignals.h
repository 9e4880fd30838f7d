// Blocks signals of the calling thread while it starts another one, which begins with the same signals blocked.
#pragma once

#include <csignal>

namespace npar::files {

/// Restores the thread's signals at the end of its scope, also when no thread could be started.
class BlockedSignals {
public:
  explicit BlockedSignals(const sigset_t &signals) { ::pthread_sigmask(SIG_BLOCK, &signals, &before); }
  BlockedSignals(const BlockedSignals &) = delete;
  BlockedSignals &operator=(const BlockedSignals &) = delete;
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

} // namespace npar::files
