// Simple commands: functions, other scripts, and what may start a training run.
#include "tools/lib/foreign/shell/Characters.h"
#include "tools/lib/foreign/shell/Conditions.h"
#include "tools/lib/foreign/shell/Launchers.h"
#include "tools/lib/foreign/shell/Parser.h"
#include "tools/lib/foreign/shell/Printing.h"
#include "tools/lib/foreign/shell/Runner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace npar::foreign::shell {
namespace {

const std::set<std::string> declarations = {"export", "declare", "typeset", "local", "readonly"};
/// Commands that are taken to succeed, since a script that trains has got past them.
const std::set<std::string> successful = {
    ":",    "true", "mkdir",  "rm",     "cp",  "mv",    "ln",    "touch", "chmod",   "ulimit", "sleep", "wait",   "pushd", "popd",
    "pip",  "pip3", "conda",  "module", "ml",  "git",   "wget",  "curl",  "make",    "tar",    "unzip", "trap",   "umask", "hostname",
    "date", "echo", "printf", "cat",    "tee", "shopt", "alias", "hash",  "history", "kill",   "pkill", "disown", "enable"};
/// Commands that run the command that follows.
const std::set<std::string> wrappers = {"exec", "command", "builtin", "nohup", "env", "sudo", "stdbuf", "nice", "xargs"};
/// Commands of the shell itself, which run in its process.
const std::set<std::string> builtins = {
    ".",       ":",        "[",       "alias",    "bg",      "bind",    "break",  "builtin", "caller",  "cd",        "command",
    "compgen", "complete", "compopt", "continue", "declare", "dirs",    "disown", "echo",    "enable",  "eval",      "exec",
    "exit",    "export",   "false",   "fc",       "fg",      "getopts", "hash",   "help",    "history", "jobs",      "kill",
    "let",     "local",    "logout",  "mapfile",  "popd",    "printf",  "pushd",  "pwd",     "read",    "readarray", "readonly",
    "return",  "set",      "shift",   "shopt",    "source",  "suspend", "test",   "times",   "trap",    "true",      "type",
    "typeset", "ulimit",   "umask",   "unalias",  "unset",   "wait"};
const std::set<std::string> shells = {"bash", "sh", "zsh", "dash", "ksh"};
/// Words in front of a script that is run by them.
const std::set<std::string> starters = {"srun",   "sbatch", "mpirun", "mpiexec",     "nohup",
                                        "salloc", "time",   "docker", "singularity", "apptainer"};

bool endsInSh(const Text &word) {
  const std::string &text = word.str();
  return text.size() > 3 && text.compare(text.size() - 3, 3, ".sh") == 0 && text[0] != '-' &&
         text.find_first_of(" =\n") == std::string::npos;
}

} // namespace

/// Expands the words first, then the redirections. A program expands its own in its process, so variables that they set are lost.
void Runner::dispatch(const Simple &simple, const Command &command, const Unit &unit) {
  Origin at = unit.source.originAt(command.begin);
  hasSubstituted = false;
  std::vector<Text> words = expander.fields(simple.words, unit);
  if (!environment.good())
    return;
  bool isProgram = !words.empty() && builtins.count(words[0].str()) == 0 && environment.state.functions.count(words[0].str()) == 0;
  auto body = [&] { redirected(command, unit, [&] { execute(simple, std::move(words), unit, at); }); };
  if (isProgram && !command.redirections.empty())
    apart(body);
  else
    body();
}

void Runner::execute(const Simple &simple, std::vector<Text> words, const Unit &unit, Origin at) {
  std::string first = simple.words.empty() ? "" : simple.words[0].plain();
  if (declarations.count(first) != 0) {
    finish(0);
    bool isMap = false, isList = false, isReference = false, isGlobal = false;
    std::vector<std::string> names;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string &word = words[i].str();
      if (word.size() > 1 && (word[0] == '-' || word[0] == '+')) {
        isMap = isMap || word.find('A') != std::string::npos, isList = isList || word.find('a') != std::string::npos;
        isReference = isReference || word.find('n') != std::string::npos, isGlobal = isGlobal || word.find('g') != std::string::npos;
      } else if (size_t equals = word.find('='); equals != std::string::npos && equals > 0) {
        environment.assign(word.substr(0, equals), words[i].slice(equals + 1, word.size()), at);
      } else {
        names.push_back(word);
      }
    }
    if (isReference && first != "export")
      return environment.fail({at, "npar does not follow names of other variables ('" + first + " -n')", "", {}, ""});
    bool isLocal = (first == "local" || ((first == "declare" || first == "typeset") && !isGlobal)) && !environment.state.replaced.empty();
    for (const Assignment &assignment : simple.assignments) {
      if (isLocal)
        environment.makeLocal(assignment.name);
      if (isLocal && !assignment.adds && isMap)
        environment.unset(assignment.name);
      expander.assign(assignment, unit, isMap);
    }
    for (const std::string &name : names) {
      if (isLocal)
        environment.makeLocal(name);
      if (isLocal || ((isMap || isList) && !environment.find(name))) {
        environment.unset(name);
        if (isMap || isList) {
          Variable variable;
          variable.kind = isMap ? Variable::Kind::Map : Variable::Kind::List;
          environment.assign(name, std::move(variable));
        }
      }
    }
    return;
  }
  if (words.empty()) {
    for (const Assignment &assignment : simple.assignments)
      expander.assign(assignment, unit);
    if (!hasSubstituted)
      finish(0);
    return;
  }
  std::map<std::string, std::optional<VariablePointer>> before;
  for (const Assignment &assignment : simple.assignments) {
    auto known = environment.state.variables.find(assignment.name);
    before.emplace(assignment.name, known == environment.state.variables.end() ? std::nullopt : std::optional(known->second));
    expander.assign(assignment, unit);
  }
  this->command(std::move(words), at);
  for (const auto &[name, variable] : before)
    if (variable)
      environment.state.variables[name] = *variable;
    else
      environment.state.variables.erase(name);
}

void Runner::command(std::vector<Text> words, Origin at) {
  if (words.empty() || !environment.spend(10 * words.size(), at))
    return;
  if (++depth > deepestShellCalls) {
    environment.fail({at, "npar does not follow this script further: its commands are nested too deep", "", {}, ""});
  } else if (words[0].unknown()) {
    environment.state.status = {0, words[0].unknown()};
    launch(std::move(words), at);
  } else if (std::string name = words[0].str(); environment.state.functions.count(name)) {
    Routine routine = environment.state.functions.at(name);
    call(routine, std::vector<Text>(words.begin() + 1, words.end()));
  } else if (name.size() > 2 && name.compare(0, 2, "--") == 0 && isLetter(name[2])) { // a file of flags alone
    words.insert(words.begin(), Text());
    Launch flags;
    flags.words = std::move(words), flags.at = at;
    environment.state.launches.push_back(std::move(flags));
  } else if (wrappers.count(name)) {
    size_t next = 1;
    for (; next < words.size(); ++next) {
      const std::string &word = words[next].str();
      size_t equals = word.find('=');
      if (!word.empty() && word[0] == '-')
        continue;
      if (name != "env" || equals == std::string::npos)
        break;
      environment.assign(word.substr(0, equals), words[next].slice(equals + 1, word.size()), at);
    }
    bool ends = name == "exec" && next < words.size();
    command(std::vector<Text>(words.begin() + static_cast<ptrdiff_t>(next), words.end()), at);
    if (ends && environment.good())
      flow = Flow::Exit, lastExit = at, hasExited = true;
  } else if (runSpecial(words, at)) {
  } else if (std::optional<Text> text = printedBy(words, input, environment, at)) {
    finish(0);
    print(*text);
  } else if (!followScript(words, at)) {
    finish(0);
    if (successful.count(name) == 0) {
      Unknown why;
      why.at = at, why.why = "the exit code of '" + name.substr(0, 60) + "'";
      environment.state.status.unknown = std::make_shared<Unknown>(std::move(why));
    }
    printUnknown(words, at);
    launch(std::move(words), at);
  }
  --depth;
}

void Runner::call(const Routine &routine, std::vector<Text> arguments) {
  std::vector<Text> outer = std::exchange(environment.state.arguments, std::move(arguments));
  size_t level = environment.state.replaced.size();
  environment.state.replaced.emplace_back();
  run(*routine.body, *routine.unit);
  if (environment.state.replaced.size() > level) {
    for (const auto &[name, variable] : environment.state.replaced[level])
      if (variable)
        environment.state.variables[name] = variable;
      else
        environment.state.variables.erase(name);
    environment.state.replaced.resize(level);
  }
  environment.state.arguments = std::move(outer);
  if (flow == Flow::Return)
    flow = Flow::Normal;
}

/// Follows the text of a command in this shell.
void Runner::evaluate(const Text &source, Origin at) {
  if (source.unknownAt(0) && source.unknown()) { // the command itself is not known
    if (!isTool(source.str()))
      launch({source}, at);
    return;
  }
  if (UnitPointer unit = parsed(source))
    run(unit->commands, *unit);
}

/// Follows the text of a command, or of a script, in a shell of its own.
void Runner::evaluateApart(const Text &source, std::vector<Text> arguments, std::vector<Text> before) {
  std::vector<Text> outer = launcher;
  launcher.insert(launcher.end(), before.begin(), before.end());
  apart([&] {
    environment.state.arguments = std::move(arguments);
    if (UnitPointer unit = parsed(source))
      run(unit->commands, *unit);
  });
  launcher = std::move(outer);
}

/// Follows `bash -c TEXT`, `srun bash script.sh`, `./script.sh` and the like. False if this is no such command.
bool Runner::followScript(const std::vector<Text> &words, Origin at) {
  auto rest = [&](size_t from) {
    return std::vector<Text>(words.begin() + static_cast<ptrdiff_t>(std::min(from, words.size())), words.end());
  };
  auto before = [&](size_t end) { return std::vector<Text>(words.begin(), words.begin() + static_cast<ptrdiff_t>(end)); };
  std::string name(nameOf(words[0]));
  bool starts = starters.count(name) != 0;
  std::optional<Launch> program = launchOf(words, environment, at);
  size_t end = program && !program->decidedBy ? program->program : words.size(); // the words of a program follow
  for (size_t i = 0; i < end; ++i) {
    if (shells.count(std::string(nameOf(words[i])))) {
      size_t next = i + 1;
      bool isText = false;
      for (; next < words.size() && words[next].str().substr(0, 1) == "-" && !words[next].unknownAt(0); ++next)
        isText = isText || (words[next].str().substr(0, 2) != "--" && words[next].str().find('c') != std::string::npos);
      if (next == words.size()) { // commands on the standard input
        if (i > 0 || !input || isText)
          return false;
        evaluateApart(*input, {}, {});
        return true;
      }
      if (isText) {
        evaluateApart(words[next], rest(next + 2), before(i));
        return true;
      }
      if (std::optional<Text> text = file(words[next])) {
        evaluateApart(*text, rest(next + 1), before(i));
        return true;
      }
      return false;
    }
    if (endsInSh(words[i]) && (i == 0 || starts)) {
      std::optional<Text> text = file(words[i]);
      if (!text)
        return false;
      if (name == "sbatch")
        apart([&] {
          environment.state.arguments = rest(i + 1);
          runScript(*text);
        });
      else
        evaluateApart(*text, rest(i + 1), before(i));
      return true;
    }
  }
  if (name == "sbatch" && input) {
    Text text = *input;
    apart([&] { runScript(text); });
    return true;
  }
  if ((name == "ssh" || name == "pdsh") && words.size() > 2 && words.back().str().find(' ') != std::string::npos) {
    evaluateApart(words.back(), {}, {});
    return true;
  }
  return false;
}

void Runner::launch(std::vector<Text> words, Origin at) {
  words.insert(words.begin(), launcher.begin(), launcher.end());
  if (std::optional<Launch> launch = launchOf(std::move(words), environment, at)) {
    if (!launch->decidedBy) // the run that is asked about succeeds
      finish(0);
    environment.state.launches.push_back(std::move(*launch));
  }
}

void Runner::print(const Text &text) {
  if (output && environment.fits(output->size() + text.size(), text.originAt(0)) && environment.spend(text.weight(), text.originAt(0)))
    output->append(text);
}

void Runner::printUnknown(const std::vector<Text> &words, Origin at) {
  if (!output)
    return;
  Unknown why;
  why.at = at, why.why = "the output of '" + words[0].str().substr(0, 60) + "'";
  output->append(Text::unknown("$(" + words[0].str().substr(0, 60) + ")", std::make_shared<Unknown>(std::move(why))));
}

std::optional<Text> Runner::file(const Text &path) const {
  std::string name = path.str();
  while (name.compare(0, 2, "./") == 0)
    name.erase(0, 2);
  for (const std::string &one : {path.str(), name, "./" + name})
    if (auto known = environment.state.files.find(one); known != environment.state.files.end())
      return known->second;
  return readFile ? readFile(path) : std::nullopt;
}

} // namespace npar::foreign::shell
