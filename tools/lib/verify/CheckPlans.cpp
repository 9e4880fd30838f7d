// Forks a process per plan, which leaves its result in a file, and judges what became of it.
#include "tools/lib/verify/CheckPlans.h"

#include "tools/lib/models/Compilation.h"
#include "engine/readable/Printable.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
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
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace npar::verify {

using engine::Code;
using engine::Status;

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

/// True if the text refuses its sizes without a plan, too.
bool refusesSizes(models::ModelOptions model) {
  model.plan = "none";
  engine::Result<dsl::FrontendOptions> frontend = model.frontend();
  dsl::Sources sources;
  return frontend.ok() && !models::elaborateQuietly(*frontend, sources);
}

/// Removes the folder's name, which means nothing to a reader.
std::string withoutFolder(std::string text, const std::string &folder) {
  for (size_t at = text.find(folder + "/"); at != std::string::npos; at = text.find(folder + "/", at))
    text.erase(at, folder.size() + 1);
  return text;
}

/// An error as the process leaves it in place of a report.
struct PlanError {
  Code code = Code::Ok;
  std::string message;
  bool isLocated = false;
  bool refusesSizes = false; ///< the text does without a plan, too

  std::string toJson() const {
    nlohmann::json json = {{"code", static_cast<int>(code)}, {"message", message}, {"located", isLocated}, {"refuses_sizes", refusesSizes}};
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  static PlanError of(const nlohmann::json &json) {
    return {static_cast<Code>(json.value("code", static_cast<int>(Code::Internal))), json.value("message", ""),
            json.value("located", false), json.value("refuses_sizes", false)};
  }
};

class PlanProcess {
public:
  PlanProcess(const ModelOutline &model, const std::string &modelText, const PlanDraft &draft, const PlanCheckOptions &options,
              const std::string &folder)
      : draft(draft), folder(folder), base(fs::path(folder) / draft.name) {
    std::string text = wholeText(modelText, draft, firstLine);
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
    PlanResult result;
    result.output = withoutFolder(contentOf(base.string() + ".err"), folder);
    nlohmann::json left = nlohmann::json::parse(contentOf(base.string() + ".json"), nullptr, /*allow_exceptions=*/false);
    if (late)
      result.reason = fmt::format("exceeded {} s", seconds);
    else if (WIFSIGNALED(status))
      result.reason = fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
    else if (!left.is_object())
      result.reason = fmt::format("exit code {} without a report", WEXITSTATUS(status));
    else if (left.contains("checks"))
      judgeReport(left, result);
    else
      judgeError(PlanError::of(left), result);
    return result;
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
    engine::Result<VerifyReport> report = options.verify(changed);
    std::ofstream left(base.string() + ".json", std::ios::binary);
    if (report.ok())
      left << jsonOf(*report);
    else
      left << PlanError{report.status().code(), report.status().message(), report.status().isLocated(),
                        report.status().code() == Code::BadInput && refusesSizes(changed)}
                  .toJson();
    left.close();
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(report.status().code())); // without destructors of objects that belong to the parent
  }

  static void judgeReport(const nlohmann::json &report, PlanResult &result) {
    result.error = 0;
    bool isOfOneRank = true; // all failed checks are
    for (const nlohmann::json &check : report["checks"]) {
      std::string name = check["name"];
      bool inFloat64 = name != "finite differences" && name.rfind("in ", 0) != 0;
      double error = check.contains("max_relative_error") && inFloat64
                         ? (check["max_relative_error"].is_number() ? check["max_relative_error"].get<double>() : INFINITY)
                         : 0;
      result.error = std::max(*result.error, error);
      if (check["ok"].get<bool>())
        continue;
      isOfOneRank &= check.contains("one_rank_too");
      result.reason += (result.reason.empty() ? "" : "; ") + name + ": " + check["detail"].get<std::string>();
    }
    result.verdict = result.reason.empty() ? Verdict::Ok : isOfOneRank ? Verdict::Refused : Verdict::Failed;
  }

  void judgeError(const PlanError &error, PlanResult &result) const {
    constexpr const char *mark = "error: "; // after the location
    std::string message = withoutFolder(readable::printable(error.message), folder);
    size_t place = error.isLocated ? message.find(mark) : std::string::npos;
    size_t begin = place == std::string::npos ? 0 : place + std::strlen(mark);
    std::string line = message.substr(begin, message.find('\n', begin) - begin);
    uint32_t blamed = error.isLocated ? blamedLine(message) : 0;
    result.reason = line.empty() ? fmt::format("exit code {} without a message", static_cast<int>(error.code)) : line;
    if (error.code != Code::BadInput)
      return;
    if (blamed >= firstLine) {
      result.verdict = Verdict::Refused;
      result.at = planLine(blamed);
    } else if (error.refusesSizes) {
      result.verdict = Verdict::Refused;
      result.reason = "the model refuses these sizes: " + line;
    } else {
      result.reason = "refused without a line of the plan: " + result.reason;
    }
  }

  /// The line of the first error in this plan's text; 0 if the first error is elsewhere or has no location.
  uint32_t blamedLine(const std::string &message) const {
    size_t error = message.find(": error: ");
    size_t begin = error == std::string::npos ? std::string::npos : message.rfind('\n', error);
    begin = begin == std::string::npos ? 0 : begin + 1;
    std::string file = draft.name + ".npar:";
    return error != std::string::npos && message.compare(begin, file.size(), file) == 0
               ? static_cast<uint32_t>(std::strtoul(message.c_str() + begin + file.size(), nullptr, 10))
               : 0;
  }

  std::string planLine(uint32_t line) const {
    std::istringstream text(draft.text);
    std::string found;
    for (uint32_t at = firstLine; at <= line && std::getline(text, found); ++at)
      ;
    size_t first = found.find_first_not_of(' ');
    return first == std::string::npos ? "" : found.substr(first);
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

const char *nameOf(Verdict verdict) { return verdict == Verdict::Ok ? "ok" : verdict == Verdict::Refused ? "refused" : "failed"; }

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

std::string reasonKind(const std::string &reason) {
  std::string kind;
  for (size_t i = 0; i < reason.size(); ++i) {
    bool digit = std::isdigit(static_cast<unsigned char>(reason[i])) != 0;
    if (digit && !kind.empty() && kind.back() == 'N')
      continue;
    bool inWord = i > 0 && (std::isalpha(static_cast<unsigned char>(reason[i - 1])) || reason[i - 1] == '_');
    kind += digit && !inWord ? 'N' : reason[i];
  }
  return kind;
}

} // namespace npar::verify
