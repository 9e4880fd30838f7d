// Forks a process per plan and reads from its exit code and words what became of it.
#include "tools/npar/trials/PlanCheck.h"

#include "engine/status/Thrown.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

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

namespace npar::driver {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A folder in $TMPDIR (else /tmp) that is gone when the check is over.
class Folder {
public:
  Folder() {
    const char *variable = std::getenv("TMPDIR");
    parent = variable && *variable ? variable : "/tmp";
    std::string pattern = parent + "/npar-verify-XXXXXX";
    if (mkdtemp(pattern.data()))
      path = pattern;
    else
      why = std::strerror(errno);
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  std::string parent, path, why; ///< `path` is empty when it could not be made
};

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A child writes this when the text refuses its sizes without a plan, too.
constexpr const char *sizesRefused = "sizes refused by the text";

bool refusesSizes(ModelOptions model) {
  model.plan = "none";
  Outcome<dsl::FrontendOptions> frontend = reported(model.frontend());
  dsl::Sources sources;
  return frontend.ok() && !models::elaborateQuietly(*frontend, sources);
}

/// The folder's name says nothing to a reader.
std::string withoutFolder(std::string text, const std::string &folder) {
  for (size_t at = text.find(folder + "/"); at != std::string::npos; at = text.find(folder + "/", at))
    text.erase(at, folder.size() + 1);
  return text;
}

class Run {
public:
  Run(const SmallModel &model, const PlanDraft &draft, const PlanCheckOptions &options, const std::string &folder)
      : draft(draft), folder(folder), base(fs::path(folder) / draft.name) {
    std::string text = wholeText(options.modelText, draft, firstLine);
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
    end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  }

  ~Run() {
    if (process <= 0 || ended)
      return;
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
  }
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  bool started() const { return process > 0; }
  /// Why it was not started.
  const std::string &reason() const { return why; }

  /// Whether the process has ended; one that runs too long is ended.
  bool poll() {
    ended = waitpid(process, &status, WNOHANG) != 0;
    if (!ended && Clock::now() > end) {
      kill(process, SIGKILL);
      late = ended = waitpid(process, &status, 0) != 0;
    }
    return ended;
  }

  PlanResult result(double seconds) const {
    std::string said = withoutFolder(contentOf(base.string() + ".err"), folder), written = contentOf(base.string() + ".out");
    PlanResult result;
    result.output = said;
    if (late)
      result.reason = fmt::format("exceeded {} s", seconds);
    else if (WIFSIGNALED(status))
      result.reason = fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
    else
      judge(static_cast<ExitCode>(WEXITSTATUS(status)), said, written, result);
    return result;
  }

private:
  [[noreturn]] void runChild(const SmallModel &model, const PlanCheckOptions &options) {
    forgetStopSignals();
    Waiting::silence();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whatever ends the parent
    for (auto [ending, stream] : {std::pair(".out", STDOUT_FILENO), std::pair(".err", STDERR_FILENO)}) {
      int file = open((base.string() + ending).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (file < 0 || dup2(file, stream) < 0)
        std::_Exit(static_cast<int>(ExitCode::RunFailed));
    }
    ModelOptions changed = model.options;
    changed.model = base.string() + ".npar";
    changed.importFolder = models::folderOf(model.file);
    changed.plan = draft.name;
    std::vector<std::string> given = changed.settings; // what a person sets holds
    changed.settings.clear();
    for (const auto &[key, value] : draft.settings)
      changed.settings.push_back(key + "=" + value);
    changed.settings.insert(changed.settings.end(), given.begin(), given.end());
    ExitCode code = ExitCode::Internal;
    try {
      code = options.verify(changed);
      if (code == ExitCode::BadInput && refusesSizes(changed))
        std::cout << sizesRefused;
    } catch (...) {
      code = fail(engine::statusOfThrown());
    }
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code)); // without destructors: the parent's are none of its business
  }

  void judge(ExitCode code, const std::string &said, const std::string &written, PlanResult &result) const {
    if (code == ExitCode::Good || code == ExitCode::CheckFailed) {
      nlohmann::json report = nlohmann::json::parse(written, nullptr, /*allow_exceptions=*/false);
      if (!report.is_object() || !report.contains("checks")) {
        result.reason = fmt::format("exit code {} without a report", static_cast<int>(code));
        return;
      }
      result.error = 0;
      bool isOfOneRank = true; // whatever fails
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
        result.reason += (result.reason.empty() ? "" : "; ") + check["name"].get<std::string>() + ": " + check["detail"].get<std::string>();
      }
      if (result.reason.empty())
        result.verdict = code == ExitCode::Good ? Verdict::Ok : Verdict::Failed;
      else
        result.verdict = isOfOneRank ? Verdict::Refused : Verdict::Failed;
      return;
    }
    size_t begin = said.find("error: ");
    std::string line = begin == std::string::npos ? "" : said.substr(begin + 7, said.find('\n', begin) - begin - 7);
    uint32_t place = blamedLine(said);
    if (code == ExitCode::BadInput && place >= firstLine) {
      result.verdict = Verdict::Refused;
      result.reason = line;
      result.at = planLine(place);
      return;
    }
    if (code == ExitCode::BadInput && written == sizesRefused) {
      result.verdict = Verdict::Refused;
      result.reason = "the model refuses these sizes: " + line;
      return;
    }
    result.reason = line.empty() ? fmt::format("exit code {} without a message", static_cast<int>(code)) : line;
    if (code == ExitCode::BadInput)
      result.reason = "refused without a line of the plan: " + result.reason;
  }

  /// The line of the first error in this plan's text; 0 when it is elsewhere or nowhere.
  uint32_t blamedLine(const std::string &said) const {
    size_t error = said.find(": error: ");
    size_t begin = error == std::string::npos ? std::string::npos : said.rfind('\n', error);
    begin = begin == std::string::npos ? 0 : begin + 1;
    std::string file = draft.name + ".npar:";
    return error != std::string::npos && said.compare(begin, file.size(), file) == 0
               ? static_cast<uint32_t>(std::strtoul(said.c_str() + begin + file.size(), nullptr, 10))
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
  Clock::time_point end;
};

} // namespace

const char *nameOf(Verdict verdict) { return verdict == Verdict::Ok ? "ok" : verdict == Verdict::Refused ? "refused" : "failed"; }

ExitCode checkPlans(const SmallModel &model, const std::vector<PlanDraft> &drafts, const PlanCheckOptions &options,
                    const std::function<void(size_t, const PlanResult &)> &done) {
  // Whatever stops this, and a reader of the output that goes away too, leaves no process and no folder behind.
  stopWhenAsked("", /*quiet=*/true);
  std::signal(SIGPIPE, SIG_IGN);
  Folder folder;
  if (folder.path.empty())
    return fail(ExitCode::BadInput,
                fmt::format("cannot create a folder for the plans in '{}': {}; set TMPDIR to another place", folder.parent, folder.why));
  std::map<size_t, Run> running;
  std::map<size_t, PlanResult> finished;
  size_t next = 0, told = 0;
  while (told < drafts.size()) {
    if (const char *signal = stopSignal())
      return fail(ExitCode::RunFailed, fmt::format("stopped by {} after {} of {} plans", signal, told, drafts.size()));
    while (next < drafts.size() && running.size() < static_cast<size_t>(std::max(1, options.jobs))) {
      auto [run, isNew] = running.try_emplace(next, model, drafts[next], options, folder.path);
      if (!run->second.started())
        return fail(ExitCode::RunFailed, fmt::format("plan '{}' cannot be checked: {}", drafts[next].name, run->second.reason()));
      ++next;
    }
    for (auto run = running.begin(); run != running.end();)
      if (run->second.poll()) {
        finished[run->first] = run->second.result(options.seconds);
        run = running.erase(run);
      } else {
        ++run;
      }
    for (; finished.count(told); ++told)
      done(told, finished[told]);
    if (!standardOutputArrived())
      return ExitCode::Good; // said where the command ends
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ExitCode::Good;
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

std::string shellQuoted(const std::string &word) {
  bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || (c != '\0' && std::strchr("_-+=,./:@%", c));
  });
  if (plain)
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string modelFlags(const ModelOptions &options) {
  std::string flags;
  for (auto [flag, value] : {std::pair("--train", &options.train), std::pair("--config", &options.config)})
    if (*value)
      flags += fmt::format(" {} {}", flag, shellQuoted(**value));
  for (const std::string &setting : options.settings)
    flags += " --set " + shellQuoted(setting);
  return flags;
}

std::string reproduction(const SmallModel &model, const PlanDraft &draft, const std::string &drawing, uint64_t seed) {
  std::string own, flags = modelFlags(model.options);
  for (const auto &[key, value] : draft.settings)
    own += " --set " + shellQuoted(key + "=" + value);
  return fmt::format("npar verify --all {}{} {} --print-plan {} > {}.npar && npar verify {}.npar --plan {}{}{}{}",
                     shellQuoted(model.options.model), flags, drawing, draft.name, draft.name, draft.name, draft.name, own, flags,
                     seed == 1 ? "" : fmt::format(" --seed {}", seed));
}

} // namespace npar::driver
