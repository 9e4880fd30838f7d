// Forks a process per plan, which leaves its result in a file.
#include "tools/npar/verify/CheckPlans.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace npar::driver {

using engine::Code;
using engine::Status;
using verify::ModelOutline;
using verify::PlanDraft;
using verify::PlanOutcome;
using verify::PlanResult;

namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

/// A folder in $TMPDIR (else /tmp) that is removed when the check is over.
class TemporaryFolder {
public:
  TemporaryFolder() {
    const char *variable = std::getenv("TMPDIR");
    parent = variable && *variable ? variable : "/tmp";
    std::string pattern = parent + "/npar-verify-XXXXXX";
    if (mkdtemp(pattern.data()))
      path = pattern;
    else
      why = std::strerror(errno);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string parent, path, why; ///< `path` is empty if it could not be made
};

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class PlanProcess {
public:
  PlanProcess(const ModelOutline &model, const std::string &modelText, const PlanDraft &draft, const PlanCheckOptions &options,
              const std::string &folder)
      : draft(draft), folder(folder), base(fs::path(folder) / draft.name) {
    std::string text = verify::wholeText(modelText, draft, firstLine);
    std::ofstream file(base.string() + ".npar", std::ios::binary);
    if (!(file << text).flush()) {
      why = "cannot write '" + base.string() + ".npar' (is its disk full? set TMPDIR to another folder)";
      return;
    }
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    process = fork();
    if (process == 0)
      runChild(model, options);
    if (process < 0)
      why = std::string("cannot start a process for it: ") + std::strerror(errno);
    end = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(options.seconds));
  }

  ~PlanProcess() {
    if (process <= 0 || ended)
      return;
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
  }
  PlanProcess(const PlanProcess &) = delete;
  PlanProcess &operator=(const PlanProcess &) = delete;

  bool started() const { return process > 0; }
  /// Why it was not started.
  const std::string &reason() const { return why; }

  /// True if the process has ended. Kills it if it runs too long.
  bool poll() {
    ended = waitpid(process, &status, WNOHANG) != 0;
    if (!ended && SteadyClock::now() > end) {
      kill(process, SIGKILL);
      late = ended = waitpid(process, &status, 0) != 0;
    }
    return ended;
  }

  PlanResult result(double seconds) const {
    PlanOutcome outcome;
    outcome.output = contentOf(base.string() + ".err"), outcome.folder = folder, outcome.firstLine = firstLine;
    if (late)
      outcome.ended = fmt::format("exceeded {} s", seconds);
    else if (WIFSIGNALED(status))
      outcome.ended = fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
    else
      outcome.ended = fmt::format("exit code {} without a report", WEXITSTATUS(status));
    if (!late && !WIFSIGNALED(status))
      outcome.left = contentOf(base.string() + ".json");
    return verify::judge(outcome, draft);
  }

private:
  [[noreturn]] void runChild(const ModelOutline &model, const PlanCheckOptions &options) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whatever ends the parent
    int file = open((base.string() + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0)
      std::_Exit(static_cast<int>(Code::RunFailed));
    models::ModelOptions changed = model.options;
    changed.model = base.string() + ".npar";
    changed.importFolder = models::folderOf(model.file);
    changed.plan = draft.name;
    std::vector<std::string> given = changed.settings; // the user's settings override those of the plan
    changed.settings.clear();
    for (const auto &[key, value] : draft.settings)
      changed.settings.push_back(key + "=" + value);
    changed.settings.insert(changed.settings.end(), given.begin(), given.end());
    engine::Result<verify::VerifyReport> report = options.verify(changed);
    std::ofstream left(base.string() + ".json", std::ios::binary);
    left << verify::leftBy(report, changed);
    left.close();
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(report.status().code())); // without destructors of objects that belong to the parent
  }

  const PlanDraft &draft;
  std::string folder;
  fs::path base;
  std::string why;
  uint32_t firstLine = 0;
  pid_t process = -1;
  int status = 0;
  bool late = false, ended = false;
  SteadyClock::time_point end;
};

} // namespace

Status checkPlans(const ModelOutline &model, const std::string &modelText, const std::vector<PlanDraft> &drafts,
                  const PlanCheckOptions &options, const std::function<void(size_t, const PlanResult &)> &done) {
  TemporaryFolder folder;
  if (folder.path.empty())
    return Status::badInput(
        fmt::format("cannot create a folder for the plans in '{}': {}; set TMPDIR to another place", folder.parent, folder.why));
  std::map<size_t, PlanProcess> running;
  std::map<size_t, PlanResult> finished;
  size_t next = 0, checked = 0;
  while (checked < drafts.size()) {
    if (std::optional<Status> stopped = options.stop ? options.stop(checked, drafts.size()) : std::nullopt)
      return *stopped;
    while (next < drafts.size() && running.size() < static_cast<size_t>(std::max(1, options.jobs))) {
      auto [process, isNew] = running.try_emplace(next, model, modelText, drafts[next], options, folder.path);
      if (!process->second.started())
        return Status::runFailed(fmt::format("plan '{}' cannot be checked: {}", drafts[next].name, process->second.reason()));
      ++next;
    }
    for (auto process = running.begin(); process != running.end();)
      if (process->second.poll()) {
        finished[process->first] = process->second.result(options.seconds);
        process = running.erase(process);
      } else {
        ++process;
      }
    for (; finished.count(checked); ++checked)
      done(checked, finished[checked]);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {};
}

} // namespace npar::driver
