// Forks a process per piece of work; what it prints comes back in files that have no name.
#include "tools/npar/plan/Children.h"

#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Thrown.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace npar::driver {
namespace {

/// A file without a name, which goes when it is closed.
class Scratch {
public:
  Scratch() : file(std::tmpfile()) {}
  ~Scratch() {
    if (file)
      std::fclose(file);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  explicit operator bool() const { return file != nullptr; }
  int number() const { return fileno(file); }
  std::string content() const {
    std::string text;
    char part[4096];
    std::rewind(file);
    while (size_t read = std::fread(part, 1, sizeof part, file))
      text.append(part, read);
    return text;
  }

private:
  std::FILE *file;
};

class Child {
public:
  Child(const std::function<ExitCode(size_t)> &work, size_t index) {
    if (!output || !errors) {
      why = std::string("cannot make a file for what it prints: ") + std::strerror(errno);
      return;
    }
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    process = fork();
    if (process == 0)
      run(work, index);
    if (process < 0)
      why = std::string("cannot start a process: ") + std::strerror(errno);
  }
  ~Child() {
    if (process <= 0 || ended)
      return;
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  bool started() const { return process > 0; }
  /// Why it was not started.
  const std::string &reason() const { return why; }
  bool poll() { return ended = waitpid(process, &status, WNOHANG) != 0; }
  ChildResult result() const {
    ChildResult result{ExitCode::Internal, output.content(), errors.content(), ""};
    if (WIFSIGNALED(status))
      result.crash = strsignal(WTERMSIG(status));
    else
      result.code = static_cast<ExitCode>(WEXITSTATUS(status));
    return result;
  }

private:
  [[noreturn]] void run(const std::function<ExitCode(size_t)> &work, size_t index) {
    forgetStopSignals();
    Waiting::silence();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whatever ends the parent
    if (dup2(output.number(), STDOUT_FILENO) < 0 || dup2(errors.number(), STDERR_FILENO) < 0)
      std::_Exit(static_cast<int>(ExitCode::RunFailed));
    ExitCode code = ExitCode::Internal;
    try {
      code = work(index);
    } catch (...) {
      code = fail(statusOfThrown());
    }
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code)); // without destructors: the parent's are none of its business
  }

  Scratch output, errors;
  std::string why;
  pid_t process = -1;
  int status = 0;
  bool ended = false;
};

} // namespace

int usualJobs() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

ExitCode inChildren(size_t count, int jobs, const std::function<ExitCode(size_t)> &work,
                    const std::function<bool(size_t, const ChildResult &)> &done) {
  stopWhenAsked("", /*quiet=*/true);
  std::map<size_t, Child> running;
  std::map<size_t, ChildResult> finished;
  size_t next = 0, told = 0;
  while (told < count) {
    if (const char *signal = stopSignal())
      return fail(ExitCode::RunFailed, fmt::format("stopped by {} after {} of {} plans", signal, told, count));
    while (next < count && running.size() < static_cast<size_t>(std::max(1, jobs))) {
      auto child = running.try_emplace(next, work, next).first;
      if (!child->second.started())
        return fail(ExitCode::RunFailed, "a plan cannot be tried: " + child->second.reason());
      ++next;
    }
    for (auto child = running.begin(); child != running.end();)
      if (child->second.poll()) {
        finished[child->first] = child->second.result();
        child = running.erase(child);
      } else {
        ++child;
      }
    for (; finished.count(told); ++told)
      if (!done(told, finished[told]))
        return ExitCode::Good;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ExitCode::Good;
}

} // namespace npar::driver
