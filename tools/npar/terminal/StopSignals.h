// Signals that end a run from outside: Ctrl-C, the TERM of a job manager, the HUP of a closed terminal, and USR2, which launchers pass on.
// All have the same effect.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace npar::driver {

/// Makes the first signal end the process at once with exit code 4: it prints its name and `state`, and removes the files `abandoned`,
/// sixteen at most. A signal that was ignored when the process began stays ignored (nohup, a job in the background of a script). `state` is
/// kept as a pointer. `quiet`: prints nothing.
void stopAtOnce(const char *state = "", const std::vector<std::string> &abandoned = {}, bool quiet = false);
/// Keeps the first signal for stopSignal(), and prints that it takes effect after `what`; a second one ends the process as it would without
/// npar. `quiet`: prints nothing.
void stopWhenAsked(const char *what, bool quiet);
/// Holds these signals back while it lives.
class SignalsHeld {
public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld &) = delete;

private:
  sigset_t before;
};

/// The signals as they were when the process began: for a child.
void forgetStopSignals();

/// The signal that came since stopWhenAsked(): "SIGTERM"; null when there was none.
const char *stopSignal();

} // namespace npar::driver
