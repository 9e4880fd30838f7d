// Handlers that do only what a handler may: set a flag, write a line, remove a file, end.
#include "tools/npar/terminal/StopSignals.h"

#include "tools/npar/terminal/ExitCode.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits.h>
#include <unistd.h>

namespace npar::driver {
namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};

volatile std::sig_atomic_t arrived = 0, silent = 0, lineMayBeDrawn = 0; ///< lineMayBeDrawn: a line may be half drawn
char abandonedFiles[16][PATH_MAX]; ///< what a handler may look at; the rest are empty
const char *awaited = "", *abruptState = "";

const char *nameOf(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : signal == SIGHUP ? "SIGHUP" : "SIGUSR2";
}

void say(const char *text) {
  if (!silent)
    (void)!::write(STDERR_FILENO, text, std::strlen(text));
}

void endAtOnce(int signal) {
  for (const char *file : abandonedFiles)
    if (*file)
      ::unlink(file);
  say(lineMayBeDrawn ? "\r\x1b[Knpar: error: stopped by " : "npar: error: stopped by "); // in place of a sign of life
  say(nameOf(signal));
  say(abruptState);
  say("\n");
  ::_exit(static_cast<int>(ExitCode::RunFailed));
}

void keep(int signal) {
  int before = errno;
  arrived = signal;
  for (int one : signals) // the next one, whichever it is, ends the process
    std::signal(one, SIG_DFL);
  say(lineMayBeDrawn ? "\nnpar: " : "npar: ");
  say(nameOf(signal));
  say(": stopping ");
  say(awaited);
  say("; once more stops at once\n");
  errno = before;
}

/// Ignored signals stay ignored: `wanted` says whether one was at the beginning.
void install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART; // a slow write to a log is not to fail because of a signal that only sets a flag
  for (int one : signals)
    sigaddset(&action.sa_mask, one);
  for (int one : signals) {
    struct sigaction now;
    if (::sigaction(one, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      ::sigaction(one, &action, nullptr);
  }
}

} // namespace

void stopAtOnce(const char *state, const std::vector<std::string> &abandoned, bool quiet) {
  abruptState = state;
  silent = quiet;
  lineMayBeDrawn = ::isatty(STDERR_FILENO);
  for (size_t i = 0; i < abandoned.size() && i < std::size(abandonedFiles); ++i)
    std::strncpy(abandonedFiles[i], abandoned[i].c_str(), sizeof(abandonedFiles[i]) - 1);
  install(endAtOnce);
}

void stopWhenAsked(const char *what, bool quiet) {
  awaited = what;
  silent = quiet;
  lineMayBeDrawn = ::isatty(STDERR_FILENO);
  install(keep);
}

SignalsHeld::SignalsHeld() {
  sigset_t held;
  sigemptyset(&held);
  for (int one : signals)
    sigaddset(&held, one);
  ::pthread_sigmask(SIG_BLOCK, &held, &before);
}

SignalsHeld::~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }

void forgetStopSignals() { install(SIG_DFL); }

const char *stopSignal() { return arrived ? nameOf(arrived) : nullptr; }

} // namespace npar::driver
