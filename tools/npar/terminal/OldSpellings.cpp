// Rewrites the words of a command line, one flag at a time. The values of flags are never looked at.
#include "tools/npar/terminal/OldSpellings.h"

#include "tools/npar/terminal/Talk.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

namespace npar::driver {
namespace {

struct Renamed {
  const char *command, *old, *now;
};

constexpr Renamed renamedFlags[] = {
    {"train", "--every", "--checkpoint-every"},
    {"train", "--keep", "--checkpoint-keep"},
    {"train", "--stop-after", "--eval-stop-after"},
    {"train", "--stop-on", "--eval-stop-on"},
    {"train", "--save-weights", "--output"},
    {"train", "--order", "--data-order"},
    {"train", "--attention", "--cuda-attention"},
    {"train", "--gpus", "--cuda-gpus"},
    {"eval", "--attention", "--cuda-attention"},
    {"eval", "--gpus", "--cuda-gpus"},
    {"generate", "--attention", "--cuda-attention"},
    {"generate", "--gpus", "--cuda-gpus"},
    {"verify", "--attention", "--cuda-attention"},
    {"verify", "--gpus", "--cuda-gpus"},
    {"data show", "--order", "--data-order"},
    {"inspect", "--planned-trace", "--trace"},
    {"plan", "--for", "--goal"},
    {"plan", "--format", "--from-format"},
    {"simulate", "--format", "--from-format"},
    {"simulate", "--tokens", "--total-tokens"},
    {"simulate", "--checkpoint", "--checkpoint-seconds"},
    {"simulate", "--restart", "--restart-seconds"},
    {"simulate", "--samples", "--jitter-steps"},
    {"simulate", "--seed", "--jitter-seed"},
    {"schedule", "--import", "--from-csv"},
    {"schedule explain", "--import", "--from-csv"},
    {"launch", "--hosts", "--host-list"},
    {"tokens", "--out", "--output"},
    {"tokens", "--show", "--count"},
    {"export", "--to", "--output"},
};

/// A flag of `inspect` that asked for what is a view now.
struct ViewFlag {
  const char *flag, *view;
  enum { Goes, Stays, ValueIsLast } how; ///< the flag is left out, is a flag of the view, or its value is the view's last word
};

constexpr ViewFlag viewFlags[] = {
    {"--why", "why", ViewFlag::Goes},
    {"--annotate", "annotate", ViewFlag::Goes},
    {"--saved", "saved", ViewFlag::Goes},
    {"--bytes-per-parameter", "bytes", ViewFlag::Goes},
    {"--hosts", "hosts", ViewFlag::Stays},
    {"--per-host", "hosts", ViewFlag::Stays},
    {"--actual", "actual", ViewFlag::ValueIsLast},
    {"--compare", "compare", ViewFlag::ValueIsLast},
    {"--compare-set", "compare", ViewFlag::Stays},
};

const CLI::App *subcommandOf(const CLI::App &app, const std::string &word) {
  for (const CLI::App *each : app.get_subcommands([](const CLI::App *) { return true; }))
    if (each->check_name(word))
      return each;
  return nullptr;
}

class CommandLine {
public:
  CommandLine(std::vector<std::string> words, const CLI::App &driver) : words(std::move(words)), app(&driver) {}

  Outcome<std::vector<std::string>> rewritten() {
    if (words.empty())
      return words;
    if (words.front() == "compat") {
      warn("npar compat MODEL", "npar verify MODEL --pairs");
      words.front() = "verify", words.insert(words.begin() + 1, "--pairs");
    }
    descend();
    if (place == 0)
      return words;
    for (size_t at = place; at < words.size() && words[at] != "--";) {
      if (words[at].size() < 2 || words[at][0] != '-') {
        if (name == "launch") // what follows is the command line of another process
          break;
        ++at;
        continue;
      }
      if (ExitCode code = rewrite(at); code != ExitCode::Good)
        return code;
    }
    if (!view.empty())
      words.insert(words.begin() + 1, view);
    words.insert(words.end(), last.begin(), last.end());
    return words;
  }

private:
  /// Finds the command, and the command inside it, that the first words name.
  void descend() {
    while (place < words.size())
      if (const CLI::App *inner = subcommandOf(*app, words[place])) {
        app = inner, ++place;
        name += (name.empty() ? "" : " ") + inner->get_name();
      } else {
        return;
      }
  }

  /// Rewrites the flag at `at`, and moves on to the word after its values.
  ExitCode rewrite(size_t &at) {
    std::string flag = words[at].substr(0, words[at].find('=')), value = words[at].substr(flag.size());
    bool takesNext = value.empty();
    if (name == "inspect")
      for (const ViewFlag &each : viewFlags)
        if (flag == each.flag) {
          if (ExitCode code = takeView(each); code != ExitCode::Good)
            return code;
          if (each.how == ViewFlag::Stays) {
            at += takesNext ? 2 : 1;
            return ExitCode::Good;
          }
          words.erase(words.begin() + static_cast<long>(at));
          if (each.how == ViewFlag::Goes)
            return ExitCode::Good;
          if (!takesNext)
            last.push_back(value.substr(1));
          else if (at < words.size()) {
            last.push_back(words[at]);
            words.erase(words.begin() + static_cast<long>(at));
          }
          return ExitCode::Good;
        }
    for (const Renamed &each : renamedFlags)
      if (name == each.command && flag == each.old && !app->get_option_no_throw(flag)) {
        warn(each.old, each.now);
        words[at] = each.now + value;
        flag = each.now;
      }
    const CLI::Option *option = app->get_option_no_throw(flag);
    at += takesNext && option && option->get_items_expected_max() > 0 ? 2 : 1;
    return ExitCode::Good;
  }

  ExitCode takeView(const ViewFlag &flag) {
    if (!view.empty() && view != flag.view)
      return fail(ExitCode::Usage, "npar inspect shows one view at a time: give 'npar inspect " + view + "' or 'npar inspect " + flag.view +
                                       "'\nnpar: see 'npar inspect --help'");
    view = flag.view;
    warn(flag.flag, "npar inspect " + view + " MODEL");
    return ExitCode::Good;
  }

  void warn(const std::string &old, const std::string &now) {
    if (warned.insert(now).second)
      printRemark("warning: '" + old + "' is an old spelling; write '" + now + "'");
  }

  std::vector<std::string> words;
  const CLI::App *app;
  size_t place = 0; ///< of the first word behind the command's name
  std::string name; ///< of the command, "data show"
  std::string view; ///< that old flags of inspect ask for
  std::vector<std::string> last;
  std::set<std::string> warned;
};

} // namespace

Outcome<std::vector<std::string>> inTodaysSpelling(std::vector<std::string> words, const CLI::App &driver) {
  return CommandLine(std::move(words), driver).rewritten();
}

} // namespace npar::driver
