// Real processes, forked from the test, that do what a function says: to be killed and stopped.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace npar::testing {

class ForkedJob {
public:
  /// The function's result is the exit code of its process.
  ForkedJob(uint32_t processes, const std::function<int(uint32_t)> &work) {
    for (uint32_t process = 0; process < processes; ++process) {
      pid_t pid = ::fork();
      if (pid == 0)
        ::_exit(work(process));
      pids.push_back(pid);
    }
  }
  ~ForkedJob() {
    for (pid_t pid : pids)
      if (pid > 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
      }
  }
  void signal(uint32_t process, int number) { ::kill(pids[process], number); }
  /// Waits for its end: the exit code, or minus the signal that ended it.
  int wait(uint32_t process) {
    int status = 0;
    ::waitpid(pids[process], &status, 0);
    pids[process] = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

private:
  std::vector<pid_t> pids;
};

} // namespace npar::testing
