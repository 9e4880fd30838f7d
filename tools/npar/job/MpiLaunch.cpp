// Finds an mpiexec and builds its command line.
#include "tools/npar/job/MpiLaunch.h"

#include "engine/comm/process/Launcher.h"
#include "tools/npar/terminal/Talk.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace npar::driver {
namespace {

ExitCode refuse(const std::string &mpi, const std::vector<engine::MpiModule> &modules) {
  if (modules.empty())
    return fail(ExitCode::BadInput, "this npar was built without MPI: install libmpich-dev or libopenmpi-dev and rebuild npar");
  std::string built;
  for (const engine::MpiModule &module : modules) {
    built += (built.empty() ? "" : " and ") + module.library;
    if (module.name == mpi)
      return fail(ExitCode::BadInput, fmt::format("the mpiexec of {} was not found: install {}, or start npar with your own launcher",
                                                  module.library, module.name == "mpich" ? "mpich" : "openmpi-bin"));
  }
  return fail(ExitCode::BadInput, mpi.empty() ? fmt::format("no mpiexec of {} was found: install mpich or openmpi-bin, or start npar with "
                                                            "your own launcher",
                                                            built)
                                              : fmt::format("this npar was built for {}, not for '{}'", built, mpi));
}

std::vector<std::string> ownCommandLine() {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  return words;
}

volatile std::sig_atomic_t runner = 0;

void passOnToRunner(int) {
  if (runner > 0)
    ::kill(static_cast<pid_t>(runner), SIGUSR2);
}

/// For the mpiexec of Open MPI, which kills its processes soon after it is asked to end, but forwards SIGUSR2. In a process group of its
/// own it does not get a terminal's Ctrl-C, and cannot read from the terminal.
ExitCode runAndPassOn(const std::vector<char *> &arguments) {
  pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    if (int nowhere = ::open("/dev/null", O_RDONLY); nowhere >= 0)
      ::dup2(nowhere, STDIN_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  if (child < 0)
    return fail(ExitCode::RunFailed, fmt::format("cannot start '{}': {}", arguments[0], std::strerror(errno)));
  runner = child;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2})
    std::signal(signal, passOnToRunner);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) != 127)
    return static_cast<ExitCode>(WEXITSTATUS(status));
  return fail(ExitCode::RunFailed, WIFSIGNALED(status) ? fmt::format("'{}' was ended by signal {}", arguments[0], WTERMSIG(status))
                                                       : fmt::format("cannot run '{}'", arguments[0]));
}

} // namespace

std::vector<std::string> mpiexecCommand(const engine::MpiModule &module, const LaunchRequest &request, const std::string &executable,
                                        bool root) {
  std::vector<std::string> words = {engine::mpiexecOf(module)};
  auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (module.name == "openmpi") {
    if (root)
      add({"--allow-run-as-root"});
    add({"--oversubscribe", "--bind-to", "none"});
    if (!request.hosts.empty())
      add({"--host", request.hosts});
  } else {
    add({"-disable-auto-cleanup"});
    if (!std::getenv("UCX_TLS"))
      add({"-genv", "UCX_TLS", "^cma"});
    if (!request.hosts.empty())
      add({"-hosts", request.hosts});
  }
  add({"-n", std::to_string(request.processes), executable, "guard"});
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

ExitCode launch(const LaunchRequest &request) {
  engine::Result<engine::Launch> outer = engine::findLaunch([](const char *name) { return std::getenv(name); });
  if (!outer.ok())
    return fail(outer.status());
  if (!outer->isAlone())
    return fail(ExitCode::BadInput,
                fmt::format("{} has already started {} processes: run npar launch from a plain shell", outer->launcher, outer->processes));
  std::vector<engine::MpiModule> modules = engine::mpiModules();
  const engine::MpiModule *chosen = nullptr;
  for (const engine::MpiModule &module : modules)
    if (!chosen && (request.mpi.empty() || module.name == request.mpi) && !engine::mpiexecOf(module).empty())
      chosen = &module;
  if (!chosen)
    return refuse(request.mpi, modules);
  std::error_code failed;
  std::string self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  if (failed)
    return fail(ExitCode::Internal, "internal error: cannot find the program that runs: " + failed.message());
  std::vector<std::string> words = mpiexecCommand(*chosen, request, self, ::geteuid() == 0);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (chosen->name == "openmpi")
    return runAndPassOn(arguments);
  ::execv(arguments[0], arguments.data());
  return fail(ExitCode::BadInput, fmt::format("cannot run '{}': {}", words[0], std::strerror(errno)));
}

ExitCode launchAgain(int processes, const JobOptions &options) {
  if (options.alone)
    return fail(ExitCode::Usage, "--alone and --processes cannot be used together");
  LaunchRequest request;
  request.processes = processes, request.mpi = options.mpi;
  std::vector<std::string> words = ownCommandLine();
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--processes")
      ++i;
    else if (words[i].rfind("--processes=", 0) != 0)
      request.command.push_back(words[i]);
  }
  return launch(request);
}

} // namespace npar::driver
