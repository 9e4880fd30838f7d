// Writes the table as a script for bash, zsh or fish: the same lookups in three languages.
#include "tools/npar/completion/CompletionTable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace npar::driver {

using Next = CompletionTable::Next;
using Step = CompletionTable::Step;

namespace {

/// A line for each entry of a list.
template <typename Entries, typename LineOf> std::string lines(const Entries &entries, LineOf lineOf) {
  std::string text;
  for (const auto &entry : entries)
    text += lineOf(entry) + "\n";
  return text;
}

} // namespace

std::string bashScript(const CompletionTable &table) {
  auto wordsOf = [](const Next &next) { return fmt::format("    \"{}\") words=\"{}\" ;;", next.path, fmt::join(next.words, " ")); };
  return fmt::format(
      R"sh(# Completion of npar's command lines in bash: source <(npar completion)
_npar() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path=npar words= i
  [[ $word == '=' ]] && word=
  [[ $before == '=' ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
{}    esac
  done
  case "$path" in
{}  esac
  case "$path $before" in
{}  esac
  COMPREPLY=()
  while IFS= read -r i; do
    [[ -z $i ]] || COMPREPLY+=("$i")
  done <<< "$(compgen -W "$words" -- "$word"; compgen -f -- "$word")"
}}
complete -o filenames -F _npar npar
)sh",
      lines(table.steps, [](const Step &step) { return fmt::format("      \"{} {}\") path=\"{}\" ;;", step.path, step.word, step.leads); }),
      lines(table.next, wordsOf), lines(table.values, wordsOf));
}

std::string zshScript(const CompletionTable &table) {
  auto wordsOf = [](const Next &next) { return fmt::format("    \"{}\") next=({}) ;;", next.path, fmt::join(next.words, " ")); };
  return fmt::format(
      R"(#compdef npar
# Completion of npar's command lines in zsh: source <(npar completion zsh)
_npar() {{
  local at=npar before=${{words[CURRENT - 1]}} i
  local -a next
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in
{}    esac
  done
  if [[ ${{words[CURRENT]}} == --*=* ]]; then
    before=${{words[CURRENT]%%=*}}
    compset -P '*='
  fi
  case "$at" in
{}  esac
  case "$at $before" in
{}  esac
  (( $#next )) && compadd -a next
  _files
}}
if [[ $funcstack[1] == _npar ]]; then
  _npar "$@"
else
  compdef _npar npar
fi
)",
      lines(table.steps, [](const Step &step) { return fmt::format("      \"{} {}\") at=\"{}\" ;;", step.path, step.word, step.leads); }),
      lines(table.next, wordsOf), lines(table.values, wordsOf));
}

std::string fishScript(const CompletionTable &table) {
  auto wordsOf = [](const Next &next) { return fmt::format("    case \"{}\"\n      set next {}", next.path, fmt::join(next.words, " ")); };
  return fmt::format(
      R"(# Completion of npar's command lines in fish: npar completion fish | source
function __npar_next
  set -l at npar
  set -l before
  set -l next
  for word in (commandline -opc)[2..-1]
    set before $word
    switch "$at $word"
{}    end
  end
  set -l written (string match -r '^(--[a-z-]+)=' -- (commandline -ct))
  set -l start ""
  if set -q written[2]
    set before $written[2]
    set start $written[1]
  end
  switch "$at"
{}  end
  switch "$at $before"
{}  end
  for word in $next
    printf "%s\n" $start$word
  end
end
complete -c npar -a '(__npar_next)'
)",
      lines(table.steps,
            [](const Step &step) { return fmt::format("      case \"{} {}\"\n        set at \"{}\"", step.path, step.word, step.leads); }),
      lines(table.next, wordsOf), lines(table.values, wordsOf));
}

} // namespace npar::driver
