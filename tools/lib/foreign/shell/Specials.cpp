// Simple commands: functions, the shell's own commands, other scripts, and what may start a training run.
#include "tools/lib/foreign/ForeignFile.h"
#include "tools/lib/foreign/shell/Conditions.h"
#include "tools/lib/foreign/shell/Launchers.h"
#include "tools/lib/foreign/shell/Parser.h"
#include "tools/lib/foreign/shell/Printing.h"
#include "tools/lib/foreign/shell/Runner.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace npar::foreign::shell {
namespace {

using Words = std::vector<Text>;

const std::set<std::string> declarations = {"export", "declare", "typeset", "local", "readonly"};
/// Commands that are taken to succeed, since a script that trains has got past them.
const std::set<std::string> successful = {":",     "true",  "mkdir", "rm",      "cp",    "mv",      "ln",    "touch", "chmod",  "ulimit", "sleep",
                                          "wait",  "pushd", "popd",  "pip",     "pip3",  "conda",   "module", "ml",   "git",    "wget",   "curl",
                                          "make",  "tar",   "unzip", "trap",    "umask", "hostname", "date",  "echo", "printf", "cat",    "tee",
                                          "shopt", "alias", "hash",  "history", "kill",  "pkill",   "disown", "enable"};
/// Commands that run the command that follows.
const std::set<std::string> wrappers = {"exec", "command", "builtin", "nohup", "env", "sudo", "stdbuf", "nice", "xargs"};
const std::set<std::string> shells = {"bash", "sh", "zsh", "dash", "ksh"};
/// Words in front of a script that is run by them.
const std::set<std::string> starters = {"srun", "sbatch", "mpirun", "mpiexec", "nohup", "salloc", "time", "docker", "singularity", "apptainer"};
/// Files that set up tools, and say nothing of the run.
constexpr const char *toolFiles[] = {"activate", "bashrc", "profile", "conda.sh", "modules", "/etc/", "lmod", "set_env.sh", "setvars.sh"};

bool isTool(const std::string &text) {
  return std::any_of(std::begin(toolFiles), std::end(toolFiles), [&](const char *one) { return text.find(one) != std::string::npos; }) ||
         text.find("conda") != std::string::npos || text.find("ssh-agent") != std::string::npos;
}

bool endsInSh(const Text &word) {
  const std::string &text = word.str();
  return text.size() > 3 && text.compare(text.size() - 3, 3, ".sh") == 0 && text[0] != '-' && text.find_first_of(" =\n") == std::string::npos;
}

int numberOf(const Words &words, size_t at, int otherwise) {
  const std::string &text = at < words.size() ? words[at].str() : "";
  bool isNumber = !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::stoi(text) : otherwise;
}

} // namespace

/// The shell's own commands. Each gets all words.
class Specials {
public:
  Specials(Runner &runner, const Words &words, Origin at) : runner(runner), environment(runner.environment), words(words), at(at), before(runner.environment.state.status) {}

  /// False if this is no command of the shell.
  bool run() {
    static const std::map<std::string, void (Specials::*)()> all = {
        {"[", &Specials::test},         {"test", &Specials::test},   {"cd", &Specials::cd},        {"pwd", &Specials::pwd},
        {"set", &Specials::set},        {"shift", &Specials::shift}, {"unset", &Specials::unset},  {"let", &Specials::let},
        {"exit", &Specials::exit},      {"return", &Specials::end},  {"break", &Specials::end},    {"continue", &Specials::end},
        {"eval", &Specials::eval},      {"source", &Specials::source}, {".", &Specials::source},   {"read", &Specials::read},
        {"cat", &Specials::cat},        {"tee", &Specials::tee},     {"false", &Specials::no},     {"getopts", &Specials::getopts},
        {"mapfile", &Specials::lines},  {"readarray", &Specials::lines}, {"printf", &Specials::printf}};
    auto known = all.find(words[0].str());
    if (known == all.end())
      return false;
    runner.finish(0);
    (this->*known->second)();
    return true;
  }

private:
  UnknownPointer reason(const std::string &why) const {
    Unknown unknown;
    unknown.at = at, unknown.why = why;
    return std::make_shared<Unknown>(std::move(unknown));
  }

  void test() {
    Words arguments(words.begin() + 1, words.end());
    if (words[0].str() == "[" && !arguments.empty())
      arguments.pop_back();
    environment.state.status = testOf(arguments, environment, at);
  }

  void cd() {
    Text &folder = environment.state.folder;
    size_t first = 1;
    while (first < words.size() && words[first].str().size() > 1 && words[first].str()[0] == '-')
      ++first;
    if (first >= words.size() || words[first].str() == "-") {
      folder = Text::unknown("$PWD", reason("the folder that the script is in"));
      return;
    }
    const Text &to = words[first];
    if (!to.unknown() && to.str()[0] == '/') {
      folder = to;
    } else if (!to.unknown() && !folder.unknown() && environment.fits(folder.size() + to.size(), at)) {
      folder = Text(std::filesystem::path(folder.str() + "/" + to.str()).lexically_normal().string(), at);
    } else if (to.unknown()) {
      folder = to;
    } else {
      Text whole = folder;
      whole.append("/", at);
      whole.append(to);
      if (environment.fits(whole.size(), at))
        folder = whole;
    }
    if (std::string path = folder.str(); !folder.unknown()) {
      path = std::filesystem::path(path).lexically_normal().string();
      if (path.size() > 1 && path.back() == '/')
        path.pop_back();
      folder = Text(path, at);
    }
  }

  void pwd() {
    Text line = environment.state.folder;
    line.append("\n", at);
    runner.print(line);
  }

  void set() {
    size_t first = 1;
    bool isNew = false;
    for (; first < words.size(); ++first) {
      const std::string &word = words[first].str();
      if (word == "--") {
        isNew = true, ++first;
        break;
      }
      if (word.empty() || (word[0] != '-' && word[0] != '+'))
        break;
      if (word == "-o" || word == "+o" || (word.size() > 2 && word[0] == '-' && word.back() == 'o'))
        ++first;
    }
    if (isNew || first < words.size())
      environment.state.arguments.assign(words.begin() + static_cast<ptrdiff_t>(std::min(first, words.size())), words.end());
  }

  void shift() {
    std::vector<Text> &arguments = environment.state.arguments;
    size_t count = static_cast<size_t>(numberOf(words, 1, 1));
    if (count > arguments.size())
      runner.finish(1);
    else
      arguments.erase(arguments.begin(), arguments.begin() + static_cast<ptrdiff_t>(count));
  }

  void unset() {
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string &word = words[i].str();
      size_t bracket = word.find('[');
      const Variable *known = environment.find(word.substr(0, bracket));
      if (bracket == std::string::npos) {
        if (word[0] != '-')
          environment.unset(word);
      } else if (known) {
        Variable variable = *known;
        std::string key = word.substr(bracket + 1, word.size() - bracket - 2);
        Number index = variable.kind == Variable::Kind::Map ? Number{} : sumOf(Text(key, at), environment, at);
        variable.kind == Variable::Kind::Map ? variable.map.erase(key) : variable.list.erase(index.value);
        environment.assign(word.substr(0, bracket), std::move(variable));
      }
    }
  }

  void let() {
    Number last;
    for (size_t i = 1; i < words.size(); ++i)
      last = sumOf(words[i], environment, at);
    environment.state.status = {last.value == 0, last.unknown};
  }

  void exit() {
    environment.state.status = words.size() > 1 ? ExitCode{numberOf(words, 1, 0), words[1].unknown()} : before;
    runner.flow = Runner::Flow::Exit, runner.lastExit = at, runner.hasExited = true;
  }

  void end() {
    const std::string &name = words[0].str();
    runner.flow = name == "return" ? Runner::Flow::Return : name == "break" ? Runner::Flow::Break : Runner::Flow::Continue;
    if (name != "return")
      runner.levels = std::max(1, numberOf(words, 1, 1));
    else
      environment.state.status = words.size() > 1 ? ExitCode{numberOf(words, 1, 0), words[1].unknown()} : before;
  }

  void eval() { runner.evaluate(joined(1), at); }

  Text joined(size_t first) {
    Text all;
    for (size_t i = first; i < words.size(); ++i) {
      if (!environment.fits(all.size() + words[i].size(), at) || !environment.spend(1 + words[i].weight(), at))
        break;
      if (i > first)
        all.append(" ", at);
      all.append(words[i]);
    }
    return all;
  }

  void source() {
    if (words.size() < 2)
      return;
    if (std::optional<Text> text = runner.file(words[1])) {
      UnitPointer unit = text->unknown() ? nullptr : runner.parsed(*text);
      if (!unit)
        return;
      Words arguments(words.begin() + 2, words.end()), outer = environment.state.arguments;
      if (!arguments.empty())
        environment.state.arguments = arguments;
      runner.run(unit->commands, *unit);
      if (runner.flow == Runner::Flow::Return)
        runner.flow = Runner::Flow::Normal;
      if (!arguments.empty())
        environment.state.arguments = outer;
    } else if (!isTool(words[1].str()) && environment.unfollowed.empty()) {
      environment.unfollowed = words[1].str().substr(0, 100);
    }
  }

  void read() {
    std::vector<std::string> names;
    bool isList = false, isPlain = true;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string &word = words[i].str();
      if (word.size() > 1 && word[0] == '-') {
        isList = isList || word.back() == 'a';
        isPlain = isPlain && word.find_first_not_of("-ra") == std::string::npos;
        i += std::string_view("dptnNu").find(word.back()) != std::string_view::npos ? 1 : 0;
      } else {
        names.push_back(word);
      }
    }
    if (names.empty())
      names.emplace_back("REPLY");
    bool isKnown = isPlain && runner.input && !runner.input->unknown() && !environment.find("IFS") && names.size() == 1 && isList;
    Text line = isKnown ? runner.input->slice(0, runner.input->str().find('\n')) : Text();
    for (const std::string &name : names) {
      Variable variable;
      if (isKnown)
        variable.list = fieldsOf(line);
      else
        variable.list[0] = Text::unknown("$" + name, named(name, "what 'read' reads"));
      variable.kind = isList ? Variable::Kind::List : Variable::Kind::Text;
      environment.assign(name, std::move(variable));
    }
    if (!isKnown)
      environment.state.status.unknown = reason("what 'read' reads");
  }

  static std::map<int64_t, Text> fieldsOf(const Text &line) {
    std::map<int64_t, Text> fields;
    const std::string &all = line.str();
    for (size_t begin = all.find_first_not_of(" \t"); begin != std::string::npos;) {
      size_t end = std::min(all.find_first_of(" \t", begin), all.size());
      fields.emplace(static_cast<int64_t>(fields.size()), line.slice(begin, end));
      begin = all.find_first_not_of(" \t", end);
    }
    return fields;
  }

  UnknownPointer named(const std::string &name, const std::string &why) const {
    Unknown unknown;
    unknown.at = at, unknown.why = why, unknown.name = name;
    return std::make_shared<Unknown>(std::move(unknown));
  }

  void lines() {
    const std::string &name = words.back().str();
    Variable variable;
    variable.kind = Variable::Kind::List;
    variable.list[0] = Text::unknown("${" + name + "[@]}", named(name, "the lines that '" + words[0].str() + "' reads"));
    if (words.size() > 1 && name[0] != '-')
      environment.assign(name, std::move(variable));
  }

  void cat() {
    if (words.size() == 1 && runner.input)
      return runner.print(*runner.input);
    Text all;
    for (size_t i = 1; i < words.size(); ++i) {
      std::optional<Text> text = words[i].str() == "-" && runner.input ? std::optional<Text>(*runner.input) : runner.file(words[i]);
      if (!text)
        return runner.printUnknown(words, at);
      if (!environment.fits(all.size() + text->size(), at))
        return;
      all.append(*text);
    }
    runner.print(all);
  }

  void tee() {
    Text text = runner.input ? *runner.input : Text();
    bool adds = words.size() > 1 && words[1].str() == "-a";
    for (size_t i = 1; i < words.size(); ++i)
      if (const std::string &path = words[i].str(); path[0] != '-' && path.compare(0, 5, "/dev/") != 0)
        environment.state.files[path] = adds ? Text::unknown("$(cat " + path + ")", reason("what '" + path.substr(0, 60) + "' had before")) : text;
    runner.print(text);
  }

  void printf() {
    if (words.size() > 3 && words[1].str() == "-v") {
      std::optional<Text> text = formatted(words[3], words, 4, environment);
      environment.assign(words[2].str(), text ? *text : Text::unknown("$" + words[2].str(), reason("a format of printf, which npar does not follow")), at);
    } else if (std::optional<Text> text = printedBy(words, runner.input, environment, at)) {
      runner.print(*text);
    } else {
      runner.printUnknown(words, at);
    }
  }

  void no() { runner.finish(1); }

  void getopts() {
    if (environment.state.arguments.empty())
      return runner.finish(1);
    if (words.size() > 2)
      environment.assign(words[2].str(), Text::unknown("$" + words[2].str(), reason("the options of the script")), at);
    environment.assign("OPTARG", Text::unknown("$OPTARG", reason("the options of the script")), at);
    environment.state.status.unknown = reason("the options of the script");
  }

  Runner &runner;
  Environment &environment;
  const Words &words;
  Origin at;
  ExitCode before; ///< of the command before this one
};

void Runner::dispatch(const Simple &simple, const Command &command, const Unit &unit) {
  Origin at = unit.source.originAt(command.begin);
  hasSubstituted = false;
  std::string first = simple.words.empty() ? "" : simple.words[0].plain();
  bool declares = declarations.count(first) != 0;
  std::vector<Text> words = expander.fields(simple.words, unit);
  if (!environment.good())
    return;
  if (declares) {
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
  } else if (Specials(*this, words, at).run()) {
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
  auto rest = [&](size_t from) { return std::vector<Text>(words.begin() + static_cast<ptrdiff_t>(std::min(from, words.size())), words.end()); };
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
