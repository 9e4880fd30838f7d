// Starts the child, forwards signals, waits for its end and translates it into an exit code.
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

/// The environment variable with the descriptor through which a guarded process talks to its guard.
constexpr const char *guardVariable = "NPAR_GUARD";

/// Delay before an exit code for Open MPI's mpiexec, which kills all processes as soon as one fails: the others must report first.
constexpr unsigned secondsToReport = 2;

/// npar's default time limit in seconds, used until the child sends its own.
constexpr double defaultTimeout = 300;
/// Seconds after the time limit by which all other processes have detected that a process hangs.
constexpr double secondsToGiveUp = 1.5;

/// Delay between closing the launcher's connection and the guard's exit. MPICH's launcher records a failure when the connection closes and
/// the exit code when the process ends, and the later of the two counts. The guard closes its copy so that the connection ends with the
/// child, and exits later.
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
  if (::getppid() != parent) // the guard died before PR_SET_PDEATHSIG took effect
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

/// Receives the child's message: the time limit with which the other processes watch over it.
class Told {
public:
  explicit Told(int pipe) : pipe(pipe) { ::fcntl(pipe, F_SETFL, O_NONBLOCK); }
  /// The time limit; nothing if the child has not sent it, which may never happen.
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

/// Waits until a stopped child continues or has ended; kills it when the others' time limit is over. Counts only time in which this process
/// ran itself, so that a job that is suspended as a whole is not killed.
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

/// Waits for the child's end and returns its wait status. Sets `ended` if this guard killed it.
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
    if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP) // other signals come from a terminal, on purpose
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
  std::signal(SIGUSR1, SIG_IGN); // MPICH's mpiexec sends it when another process has ended
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
  if (told.timeout()) { // the others report why the job failed, if any are left
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
