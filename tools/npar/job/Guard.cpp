// Starts, passes on, waits, translates.
#include "tools/npar/job/Guard.h"

#include "tools/npar/terminal/Talk.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace npar::driver {
namespace {

/// Names the descriptor that a guarded process tells its guard by.
constexpr const char *guardVariable = "NPAR_GUARD";

/// Open MPI's mpiexec ends all as soon as one has ended with an error, so those who have to report come first.
constexpr unsigned secondsToReport = 2;

/// Of npar, where the child has not said another.
constexpr double defaultTimeout = 300;
/// By then all others have found out, after the time limit, that a process does not go on.
constexpr double secondsToGiveUp = 1.5;

/// MPICH's launcher notes a process twice: when its connection closes, as failed, and when it ends, by its code. What comes last stands, so
/// the connection is not left to end with the guard: it closes with the process, and the guard's own end comes later.
constexpr useconds_t microsecondsApart = 200000;

bool closeLaunchersConnection() {
  const char *named = std::getenv("PMI_FD");
  return named && std::atoi(named) > STDERR_FILENO && ::close(std::atoi(named)) == 0;
}

volatile std::sig_atomic_t guarded = 0;

void passOn(int signal) {
  if (guarded > 0)
    ::kill(static_cast<pid_t>(guarded), signal);
}

[[noreturn]] void becomeNpar(const std::vector<std::string> &command, pid_t parent, int tell) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL), 0UL, 0UL, 0UL);
  if (::getppid() != parent) // it died before it was asked for
    ::_exit(static_cast<int>(ExitCode::RunFailed));
  ::setenv(guardVariable, std::to_string(tell).c_str(), 1);
  std::vector<std::string> words = {"npar"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(static_cast<int>(fail(ExitCode::RunFailed, fmt::format("cannot start npar again: {}", std::strerror(errno)))));
}

/// What the child tells: the time limit by which the others watch over it.
class Told {
public:
  explicit Told(int pipe) : pipe(pipe) { ::fcntl(pipe, F_SETFL, O_NONBLOCK); }
  /// Nothing: it has not said so, and perhaps never will.
  std::optional<double> timeout() {
    double seconds = 0;
    if (!known && ::read(pipe, &seconds, sizeof(seconds)) == sizeof(seconds))
      known = seconds;
    return known;
  }

private:
  int pipe;
  std::optional<double> known;
};

/// A stopped child may be continued; the others wait for it as long as their time limit. Returns when it goes on or has ended. What counts
/// is the time in which this process ran: a whole job that is suspended is not given up.
void waitWhileStopped(pid_t child, Told &told, bool &ended) {
  constexpr auto look = std::chrono::milliseconds(50);
  for (std::chrono::duration<double> waited(0); !ended; waited += look) {
    siginfo_t news = {};
    if (::waitid(P_PID, static_cast<id_t>(child), &news, WCONTINUED | WEXITED | WNOHANG | WNOWAIT) == 0 && news.si_pid == child)
      return;
    if (waited.count() > told.timeout().value_or(defaultTimeout) + secondsToGiveUp)
      ::kill(child, SIGKILL), ended = true;
    std::this_thread::sleep_for(look);
  }
}

/// How the child ends; `ended`: that this guard has ended it.
int waitFor(pid_t child, Told &told, bool &ended) {
  for (int status = 0;;) {
    pid_t found = ::waitpid(child, &status, WUNTRACED | WCONTINUED);
    if (found < 0 && errno == EINTR)
      continue;
    if (found < 0) {
      printError(fmt::format("cannot wait for process {}: {}", child, std::strerror(errno)));
      return W_EXITCODE(static_cast<int>(ExitCode::RunFailed), 0);
    }
    if (WIFEXITED(status) || WIFSIGNALED(status))
      return status;
    if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP) // other signals stop it at a terminal, where someone means it
      waitWhileStopped(child, told, ended);
  }
}

} // namespace

ExitCode guard(const std::vector<std::string> &command) {
  int ends[2];
  if (::pipe(ends) != 0)
    return fail(ExitCode::RunFailed, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGTSTP, SIGCONT})
    std::signal(signal, passOn);
  std::signal(SIGUSR1, SIG_IGN); // by which MPICH's mpiexec tells that another process is gone
  pid_t self = ::getpid(), child = ::fork();
  if (child == 0)
    becomeNpar(command, self, ends[1]);
  ::close(ends[1]);
  if (child < 0)
    return fail(ExitCode::RunFailed, fmt::format("cannot start a process: {}", std::strerror(errno)));
  guarded = child;
  bool connected = closeLaunchersConnection();
  Told told(ends[0]);
  bool stopped = false;
  int status = waitFor(child, told, stopped);
  guarded = 0;
  if (connected && status != 0)
    ::usleep(microsecondsApart);
  if (WIFEXITED(status))
    return static_cast<ExitCode>(WEXITSTATUS(status));
  if (stopped) {
    printRemark(fmt::format("process {} was stopped for longer than the time limit (--timeout) and was killed", child));
    return ExitCode::Timeout;
  }
  printRemark(fmt::format("process {} was killed by signal {} ({})", child, WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  if (told.timeout()) { // the others say why the job fails, where any is left
    if (std::getenv("OMPI_COMM_WORLD_SIZE"))
      ::sleep(secondsToReport);
    return ExitCode::RunFailed;
  }
  std::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return ExitCode::RunFailed;
}

bool isGuarded(int argc, char **argv) { return std::getenv(guardVariable) || (argc > 1 && std::strcmp(argv[1], "guard") == 0); }

void tellGuard(double timeoutSeconds) {
  const char *named = std::getenv(guardVariable);
  if (!named)
    return;
  int told = std::atoi(named);
  ::unsetenv(guardVariable);
  if (::write(told, &timeoutSeconds, sizeof(timeoutSeconds)) == sizeof(timeoutSeconds))
    ::close(told);
}

} // namespace npar::driver
