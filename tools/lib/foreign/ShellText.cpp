// Chooses the training command among those that the script runs, and splits its words into flags and values.
#include "tools/lib/foreign/ShellText.h"

#include "engine/files/BoundedText.h"
#include "tools/lib/foreign/EntryList.h"
#include "tools/lib/foreign/shell/Launchers.h"
#include "tools/lib/foreign/shell/Runner.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace npar::foreign {
namespace {

namespace fs = std::filesystem;
using shell::Launch;
using shell::Text;
using shell::UnknownPointer;

constexpr size_t mostSources = 50; ///< files that a script may read

/// Lines and columns of bytes in the sources.
class Places {
public:
  explicit Places(const dsl::Sources &sources) : sources(sources) {}

  dsl::Location of(const shell::Origin &origin, size_t length = 1) {
    const std::string &text = sources.text(origin.file);
    std::vector<size_t> &starts = lines[origin.file];
    if (starts.empty()) {
      starts.push_back(0);
      for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
        starts.push_back(at + 1);
    }
    size_t offset = std::min(origin.offset, text.size());
    auto line = std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin() - 1;
    size_t begin = starts[static_cast<size_t>(line)];
    auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }; // the character before
    size_t column = 1;
    for (size_t i = begin; i < offset; ++i)
      column += continues(text[i]) ? 0 : 1;
    return {origin.file, static_cast<uint32_t>(line) + 1, static_cast<uint32_t>(column), static_cast<uint32_t>(length)};
  }
  /// A word, which need not be in one piece.
  dsl::Location of(const Text &word) {
    if (word.empty())
      return of(shell::Origin());
    shell::Origin first = word.originAt(0), last = word.originAt(word.size() - 1);
    bool isWhole = first.file == last.file && last.offset == first.offset + word.size() - 1;
    return of(first, isWhole ? std::min<size_t>(word.size(), 200) : 1);
  }

private:
  const dsl::Sources &sources;
  std::map<uint32_t, std::vector<size_t>> lines;
};

bool isFlag(const Text &word) {
  const std::string &text = word.str();
  return text.size() > 2 && text[0] == '-' && text[1] == '-' && isLetter(text[2]) && !word.unknownAt(0);
}

/// The name of a variable that holds several words, such as EXTRA_ARGS.
bool namesWords(const std::string &name) {
  for (const char *end : {"ARGS", "ARG", "OPTS", "OPTIONS", "FLAGS", "args", "opts", "options", "flags", "@"})
    if (std::string word = end; name.size() >= word.size() && name.compare(name.size() - word.size(), word.size(), word) == 0)
      return true;
  return false;
}

/// How clearly a program trains. A file of flags alone has none.
int rankOf(const Launch &launch) {
  std::string name(shell::nameOf(launch.words[launch.program]));
  if (name.empty())
    return 0;
  const Text &word = launch.words[launch.program]; // its folder need not be known
  if (word.unknownAt(word.size() - 1) || (word.unknownAt(0) && word.str().find(' ') != std::string::npos))
    return 1;
  return name.find("pretrain") != std::string::npos                                          ? 4
         : name.find("train") != std::string::npos || name.find("tune") != std::string::npos ? 3
                                                                                             : 2;
}

/// Tells whether the program gets the size of a model.
bool hasModel(const Launch &launch) {
  return rankOf(launch) > 1 &&
         std::any_of(launch.words.begin(), launch.words.end(), [](const Text &word) { return word.str().rfind("--num-layers", 0) == 0; });
}

bool isSame(const Launch &a, const Launch &b) { return a.words == b.words && a.program == b.program && a.devices == b.devices; }

class ShellReader {
public:
  ShellReader(const std::string &path, uint32_t file, const GivenVariables &given,
              const std::function<bool(const ForeignEntry &)> &isReference, dsl::Sources &sources, dsl::Diagnostics &diagnostics)
      : path(path), file(file), given(given), isReference(isReference), sources(sources), diagnostics(diagnostics),
        entries(file, diagnostics), places(sources), runner(environment, [this](const Text &name) { return read(name); }) {}

  ShellRun run() {
    start();
    const std::string &text = sources.text(file);
    runner.runScript(Text(text, {file, 0}));
    if (!environment.good()) {
      report(environment.failure());
      return {};
    }
    ShellRun result;
    if (std::optional<Launch> launch = chosen())
      addEntries(*launch);
    result.entries = entries.take(), result.texts = std::move(texts);
    for (const shell::Unknown &one : environment.assumedUnset) {
      bool isArgument = one.name.find_first_not_of("0123456789") == std::string::npos;
      result.assumed.push_back(fmt::format("{}'{}' counts as not set (line {}); --env {}=VALUE sets it", isArgument ? "argument " : "",
                                           one.name, places.of(one.at).line, one.name));
    }
    if (!environment.unfollowed.empty())
      result.assumed.push_back(
          fmt::format("npar does not have '{}', which the script reads: it changes nothing that the script sets", environment.unfollowed));
    return result;
  }

private:
  void start() {
    std::error_code ignored;
    fs::path whole = fs::absolute(path, ignored);
    folder = whole.parent_path().string();
    environment.scriptName = whole.string();
    environment.given = given;
    shell::Unknown why;
    why.why = "the folder that the script is started in", why.at = {file, 0};
    environment.state.folder = Text::unknown("$PWD", std::make_shared<shell::Unknown>(std::move(why)));
    for (const auto &[name, value] : given)
      if (name.find_first_not_of("0123456789") != std::string::npos)
        environment.assign(name, Text(value, {file, 0}), {file, 0});
    for (size_t i = 1; given.count(std::to_string(i)); ++i)
      environment.state.arguments.emplace_back(given.at(std::to_string(i)), shell::Origin{file, 0});
    for (const auto &[name, value] : given)
      if (name.find_first_not_of("0123456789") != std::string::npos && sources.text(file).find(name) == std::string::npos)
        diagnostics.error(dsl::Code::F3, {file, 0, 0, 1}, fmt::format("'{}' of --env does not occur in '{}'", name, path));
  }

  /// A file in the folder of the script, or below. Nothing outside of it is read.
  std::optional<Text> read(const Text &name) {
    std::string word = name.str();
    size_t begin = 0;
    for (size_t i = 0; i < word.size(); ++i)
      if (name.unknownAt(i))
        begin = std::min(word.find('/', i), word.size() - 1) + 1; // of a path that begins with something unknown, the rest
    if (word.compare(0, folder.size() + 1, folder + "/") == 0)
      begin = folder.size() + 1;
    word.erase(0, begin);
    std::string last = word.substr(std::min(word.rfind('/') + 1, word.size()));
    for (const std::string &one : {word, last}) {
      fs::path relative = fs::path(one).lexically_normal();
      if (one.empty() || relative.is_absolute() || relative.begin()->string() == "..")
        continue;
      std::string whole = (fs::path(folder) / relative).string();
      std::error_code ignored;
      if (!fs::is_regular_file(whole, ignored) || sources.size() > mostSources)
        continue;
      engine::Result<std::string> text = files::readBoundedText(whole, "the file", largestForeignFile);
      if (!text.ok() || text->find('\0') != std::string::npos || !environment.spend(text->size(), {file, 0}))
        continue;
      uint32_t index = sources.add(relative.string(), *text);
      return Text(*text, {index, 0});
    }
    return std::nullopt;
  }

  void report(const shell::Failure &failure) {
    dsl::Location at = places.of(failure.at);
    dsl::Diagnostic &one = diagnostics.error(dsl::Code::F3, at, failure.message);
    if (!failure.help.empty())
      one.help(at, failure.help);
  }

  UnknownValue described(const shell::Unknown &unknown) {
    UnknownValue value;
    value.why = unknown.why, value.at = places.of(unknown.at);
    if (!unknown.name.empty())
      value.help = "--env " + unknown.name + "=VALUE gives it";
    return value;
  }

  void reportUnknown(const dsl::Location &at, const std::string &what, const shell::Unknown &unknown) {
    UnknownValue value = described(unknown);
    const std::string message = what + " depends on " + value.why;
    if (!reported.insert(message).second)
      return;
    dsl::Diagnostic &one = diagnostics.error(dsl::Code::F3, at, message);
    if (value.at.file != at.file || value.at.line != at.line)
      one.note(value.at, "it is read here");
    if (!value.help.empty())
      one.help(at, value.help);
  }

  std::optional<Launch> chosen() {
    std::vector<Launch> all = environment.state.launches;
    if (std::any_of(all.begin(), all.end(), hasModel)) // others prepare data and the like
      all.erase(std::remove_if(all.begin(), all.end(), [](const Launch &one) { return rankOf(one) > 1 && !hasModel(one); }), all.end());
    int best = -1;
    for (const Launch &one : all)
      best = std::max(best, rankOf(one));
    std::vector<Launch> those;
    for (const Launch &one : all)
      if (rankOf(one) == best && std::none_of(those.begin(), those.end(), [&](const Launch &known) { return isSame(known, one); }))
        those.push_back(one);
    if (those.empty()) {
      dsl::Diagnostic &error = diagnostics.error(dsl::Code::F3, {file, 1, 1, 1}, "this script starts no training program");
      if (runner.hasExited)
        error.note(places.of(runner.lastExit), "it ends here")
            .help({file, 1, 1, 1}, "--env NAME=VALUE sets a variable, --env 1=VALUE the first argument");
      return std::nullopt;
    }
    if (best == 0)
      return flagsAlone(those);
    const Launch &first = those.front();
    if (best == 1) {
      reportUnknown(places.of(first.at), "the program that runs here", *first.words[first.program].unknown());
      return std::nullopt;
    }
    for (const Launch &one : all)
      if (rankOf(one) == 0 && one.words.size() > 1)
        diagnostics
            .warning(places.of(one.words[1]), fmt::format("'{}' is a command of its own here: it does not reach the training program",
                                                          one.words[1].str().substr(0, 60)))
            .help(places.of(one.words[1]), "the line above it ends the command: it has no '\\' at its end, or is a comment");
    if (those.size() == 1)
      return first;
    for (const Launch &one : those)
      if (one.decidedBy) {
        reportUnknown(places.of(one.at), "which training command runs", *one.decidedBy);
        return std::nullopt;
      }
    dsl::Location here = places.of(first.at), there = places.of(those[1].at);
    if (here.line == there.line && here.file == there.file) {
      diagnostics.error(dsl::Code::F3, here, "this training command runs several times with different words")
          .help(here, "keep one of the runs in the file");
      return std::nullopt;
    }
    diagnostics
        .error(dsl::Code::F3, here,
               fmt::format("this script has {} training commands: line {} and line {}", those.size(), here.line, there.line))
        .note(there, "the second one")
        .help(here, "keep the one that you mean in the file, or give --from a copy with it alone");
    return std::nullopt;
  }

  /// All lines of a file without a program as one command.
  static std::optional<Launch> flagsAlone(const std::vector<Launch> &lines) {
    Launch all;
    all.words.emplace_back();
    for (const Launch &one : lines)
      all.words.insert(all.words.end(), one.words.begin() + 1, one.words.end());
    return all;
  }

  std::optional<UnknownValue> unknownIn(const Text &text) {
    UnknownPointer why = text.unknown();
    return why ? std::optional<UnknownValue>(described(*why)) : std::nullopt;
  }

  void addEntries(const Launch &launch) {
    for (const auto &[key, value] : launch.devices) {
      std::optional<UnknownValue> unknown = unknownIn(value);
      if (unknown)
        unknown->isOfLauncher = true;
      entries.add(key, value.str(), places.of(value), unknown);
    }
    const std::vector<Text> &words = launch.words;
    for (size_t i = launch.program + 1; i < words.size() && entries.good();) {
      const Text &flag = words[i++];
      if (!isFlag(flag)) {
        stray(flag);
        continue;
      }
      size_t equals = flag.str().find('=');
      std::string key = flag.str().substr(2, equals == std::string::npos ? equals : equals - 2);
      std::replace(key.begin(), key.end(), '-', '_');
      Text value = equals == std::string::npos ? Text() : flag.slice(equals + 1, flag.size());
      for (; i < words.size() && !isFlag(words[i]); ++i) {
        const Unknown *unknown = words[i].unknownAt(0);
        if (unknown && (!value.empty() || namesWords(unknown->name) || isLeftUnset(words[i]))) {
          stray(words[i]);
          continue;
        }
        if (!value.empty())
          value.append(" ", words[i].originAt(0));
        if (value.size() + words[i].size() > longestForeignList * 100)
          return void(entries.refuse(places.of(flag), "this flag has too many words"));
        value.append(words[i]);
      }
      entries.add(key, value.empty() ? "true" : value.str(), places.of(flag), unknownIn(value));
      if (isReference({key, value.str(), {}, {}}))
        if (std::optional<Text> text = runner.file(value))
          texts[value.str()] = {text->str(), unknownIn(*text)};
    }
    if (const Text &program = words[launch.program]; !program.empty())
      entries.add("", program.str(), places.of(program.originAt(program.size() - 1)));
  }

  using Unknown = shell::Unknown;
  /// Tells whether the word is a variable for flags that the script sets only in commands that do not run.
  bool isLeftUnset(const Text &word) const {
    UnknownPointer why = word.unknown();
    return why && why->isUnset && environment.holdsFlags.count(why->name) && word.withoutUnset(why->name).empty();
  }
  /// A word that belongs to no flag.
  void stray(const Text &word) {
    UnknownPointer why = word.unknown();
    if (isLeftUnset(word))
      environment.assumeUnset(*why);
    else if (why)
      reportUnknown(places.of(word), fmt::format("'{}', which reaches the training program,", word.str().substr(0, 60)), *why);
  }

  const std::string &path;
  std::string folder;
  uint32_t file;
  const GivenVariables &given;
  const std::function<bool(const ForeignEntry &)> &isReference;
  std::map<std::string, ReferencedText> texts;
  std::set<std::string> reported; ///< messages
  dsl::Sources &sources;
  dsl::Diagnostics &diagnostics;
  EntryList entries;
  Places places;
  shell::Environment environment;
  shell::Runner runner;
};

} // namespace

ShellRun readShellRun(const std::string &path, uint32_t file, const GivenVariables &given,
                      const std::function<bool(const ForeignEntry &)> &isReference, dsl::Sources &sources, dsl::Diagnostics &diagnostics) {
  return ShellReader(path, file, given, isReference, sources, diagnostics).run();
}

} // namespace npar::foreign
