// The shell's own commands.
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

int numberOf(const Words &words, size_t at, int otherwise) {
  const std::string &text = at < words.size() ? words[at].str() : "";
  bool isNumber = !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::stoi(text) : otherwise;
}

} // namespace

/// The shell's own commands. Each gets all words.
class Specials {
public:
  Specials(Runner &runner, const Words &words, Origin at)
      : runner(runner), environment(runner.environment), words(words), at(at), before(runner.environment.state.status) {}

  /// False if this is no command of the shell.
  bool run() {
    static const std::map<std::string, void (Specials::*)()> all = {
        {"[", &Specials::test},        {"test", &Specials::test},       {"cd", &Specials::cd},         {"pwd", &Specials::pwd},
        {"set", &Specials::set},       {"shift", &Specials::shift},     {"unset", &Specials::unset},   {"let", &Specials::let},
        {"exit", &Specials::exit},     {"return", &Specials::end},      {"break", &Specials::end},     {"continue", &Specials::end},
        {"eval", &Specials::eval},     {"source", &Specials::source},   {".", &Specials::source},      {"read", &Specials::read},
        {"cat", &Specials::cat},       {"tee", &Specials::tee},         {"false", &Specials::no},      {"getopts", &Specials::getopts},
        {"mapfile", &Specials::lines}, {"readarray", &Specials::lines}, {"printf", &Specials::printf}, {"sed", &Specials::sed}};
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
    } else if (!Runner::isTool(words[1].str()) && environment.unfollowed.empty()) {
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

  /// `sed "s/word/other/" [file]`, without patterns.
  void sed() {
    size_t first = words.size() > 1 && words[1].str() == "-e" ? 2 : 1;
    std::optional<Text> text;
    if (words.size() == first + 1 && runner.input)
      text = *runner.input;
    else if (words.size() == first + 2 && words[first].str()[0] != '-')
      text = runner.file(words[first + 1]);
    std::optional<Text> result = text ? substituted(words[first], *text) : std::nullopt;
    if (result)
      runner.print(*result);
    else
      runner.printUnknown(words, at);
  }

  std::optional<Text> substituted(const Text &expression, const Text &text) {
    const std::string &all = expression.str();
    char mark = all.size() > 4 && all[0] == 's' ? all[1] : '\0';
    size_t middle = mark ? all.find(mark, 2) : std::string::npos,
           end = middle < all.size() ? all.find(mark, middle + 1) : std::string::npos;
    if (end == std::string::npos || middle == 2 || (end + 1 != all.size() && all.substr(end + 1) != "g"))
      return std::nullopt;
    Text from = expression.slice(2, middle), to = expression.slice(middle + 1, end), result;
    if (from.unknown() || from.str().find_first_of(".[]*^$\\") != std::string::npos || to.str().find_first_of("&\\") != std::string::npos)
      return std::nullopt;
    const std::string &source = text.str();
    for (size_t begin = 0; begin < source.size();) {
      size_t found = source.find(from.str(), begin);
      bool isWhole = found != std::string::npos && !text.slice(found, found + from.size()).unknown();
      if (!environment.spend(10 + to.weight(), at) || !environment.fits(result.size() + to.size(), at) ||
          (found < source.size() && !isWhole))
        return std::nullopt;
      if (found == std::string::npos) {
        result.append(text.slice(begin, source.size()));
        break;
      }
      result.append(text.slice(begin, found));
      result.append(to);
      begin = found + from.size();
      if (end + 1 == all.size()) { // once in each line
        size_t line = std::min(source.find('\n', begin), source.size());
        result.append(text.slice(begin, line));
        begin = line;
      }
    }
    return result;
  }

  void tee() {
    Text text = runner.input ? *runner.input : Text();
    bool adds = words.size() > 1 && words[1].str() == "-a";
    for (size_t i = 1; i < words.size(); ++i)
      if (const std::string &path = words[i].str(); path[0] != '-' && path.compare(0, 5, "/dev/") != 0)
        environment.state.files[path] =
            adds ? Text::unknown("$(cat " + path + ")", reason("what '" + path.substr(0, 60) + "' had before")) : text;
    runner.print(text);
  }

  void printf() {
    if (words.size() > 3 && words[1].str() == "-v") {
      std::optional<Text> text = formatted(words[3], words, 4, environment);
      environment.assign(words[2].str(),
                         text ? *text : Text::unknown("$" + words[2].str(), reason("a format of printf, which npar does not follow")), at);
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

bool Runner::isTool(const std::string &text) {
  constexpr const char *files[] = {"activate", "bashrc", "profile", "conda.sh", "modules", "/etc/", "lmod", "set_env.sh", "setvars.sh"};
  return std::any_of(std::begin(files), std::end(files), [&](const char *one) { return text.find(one) != std::string::npos; }) ||
         text.find("conda") != std::string::npos || text.find("ssh-agent") != std::string::npos;
}

bool Runner::runSpecial(const std::vector<Text> &words, Origin at) { return Specials(*this, words, at).run(); }

} // namespace npar::foreign::shell
