// `npar completion`: prints a script for completion in bash, generated from the driver's commands and flags.
#include "tools/npar/Command.h"

#include "tools/npar/model/ModelFlags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>

namespace npar::driver {
namespace {

/// The values that an option's check allows, which its type lists as "TEXT:{cpu,cuda}"; empty if any value is allowed.
std::string allowedWords(const CLI::Option &option) {
  std::string type = option.get_type_name();
  size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos)
    return "";
  std::string words = type.substr(open + 1, close - open - 1);
  std::replace(words.begin(), words.end(), ',', ' ');
  return words;
}

/// Cases of the script for a command and all its subcommands.
struct Cases {
  std::string path;   ///< words that lead from a command to a subcommand
  std::string flags;  ///< words that can come next in a command
  std::string values; ///< words that can follow a flag
  std::string files;  ///< flags that take a file name

  void add(const CLI::App &app, const std::string &name) {
    std::vector<std::string> next, inner;
    for (const CLI::App *each : app.get_subcommands([](const CLI::App *) { return true; })) {
      if (each->get_group().empty())
        continue;
      std::vector<std::string> spellings = each->get_aliases();
      spellings.insert(spellings.begin(), each->get_name());
      for (const std::string &spelling : spellings)
        path += fmt::format("      \"{} {}\") path=\"{} {}\" ;;\n", name, spelling, name, each->get_name());
      next.push_back(each->get_name());
      add(*each, name + " " + each->get_name());
    }
    for (const CLI::Option *option : app.get_options()) {
      if (option->get_positional() && option->get_name(true) == "MODEL")
        for (const std::string &model : models::libraryTexts("models"))
          next.push_back(model);
      for (const std::string &flag : option->get_lnames()) {
        next.push_back("--" + flag);
        if (std::string words = allowedWords(*option); !words.empty())
          values += fmt::format("    \"{} --{}\") words=\"{}\" ;;\n", name, flag, words);
        else if (option->get_items_expected_max() > 0)
          files += fmt::format("    \"{} --{}\") words= ;;\n", name, flag);
      }
    }
    flags += fmt::format("    \"{}\") words=\"{}\" ;;\n", name, fmt::join(next, " "));
  }
};

ExitCode printScript(const CLI::App &driver) {
  Cases cases;
  cases.add(driver, "npar");
  std::cout << fmt::format(R"(# Completion of npar's command lines in bash: source <(npar completion)
_npar() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path=npar words i
  [[ $word == '=' ]] && word=
  [[ $before == '=' ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
{}    esac
  done
  case "$path" in
{}  esac
  case "$path $before" in
{}{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _npar npar
)",
                           cases.path, cases.flags, cases.values, cases.files);
  return ExitCode::Good;
}

} // namespace

Command addCompletionCommand(CLI::App &driver) {
  CLI::App *app = driver.add_subcommand("completion", "print a script that completes npar's command lines in bash\n\n"
                                                      "Example:\n"
                                                      "  source <(npar completion)\n");
  return {app, [&driver] { return printScript(driver); }};
}

} // namespace npar::driver
