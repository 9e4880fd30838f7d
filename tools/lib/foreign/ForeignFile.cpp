// Reads a file of settings and recognizes the program that it belongs to.
#include "tools/lib/foreign/ForeignFile.h"

#include "dsl/Suggestions.h"
#include "engine/files/BoundedText.h"
#include "tools/lib/foreign/EntryList.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/OtherPrograms.h"
#include "tools/lib/foreign/ShellText.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <string_view>
#include <utility>

namespace npar::foreign {

bool isYamlKey(std::string_view line) {
  size_t colon = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return colon != std::string_view::npos && colon > 0 && line[colon] == ':' &&
         (colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\t');
}

namespace {

constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
constexpr size_t longestLine = 200; ///< bytes of a line that are examined to recognize the program

struct Recognized {
  const ForeignProgram *program = nullptr;
  bool isDump = false;
};

/// The program with the clearest sign, the first of the table among equals; null if none has one.
template <class SignOf> std::pair<const ForeignProgram *, Sign> clearest(SignOf signOf) {
  std::pair<const ForeignProgram *, Sign> best = {nullptr, Sign::None};
  for (const ForeignProgram *one : foreignPrograms())
    if (Sign sign = signOf(*one); sign > best.second)
      best = {one, sign};
  return best;
}

/// Recognizes the program by the text as a whole, else by the first line that only one program's files can contain.
Recognized byContent(const std::string &text) {
  if (auto [program, sign] = clearest([&](const ForeignProgram &one) { return one.signOf(text); }); program)
    return {program, sign == Sign::Inside};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, longestLine);
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line[start] == '#')
      continue;
    if (const ForeignProgram *program = clearest([&](const ForeignProgram &one) { return one.signOfLine(line); }).first)
      return {program};
  }
  return {};
}

Recognized byName(const std::string &path) {
  std::string end = path.substr(std::min(path.size(), path.find_last_of("./")));
  for (const ForeignProgram *one : foreignPrograms())
    if (one->hasEnding(end))
      return {one};
  return {};
}

/// "Megatron-LM, torchtitan, DeepSpeed or Accelerate"
std::string programNames() {
  std::vector<std::string> names;
  for (const ForeignProgram *one : foreignPrograms())
    names.emplace_back(one->name());
  return dsl::joined(names);
}

/// Tells whether another program's files have the syntax of this text, which is one of `first`.
bool hasSyntax(const ForeignProgram &one, const ForeignProgram &first, const std::string &text) {
  return first.isShell(text) ? one.isShell(text) : first.isNested() && one.isNested();
}

/// Number of settings that only the program's files have.
size_t ownSettings(const ForeignProgram &program, const std::vector<ForeignEntry> &entries) {
  return static_cast<size_t>(
      std::count_if(entries.begin(), entries.end(), [&](const ForeignEntry &entry) { return program.isOnlyHere(entry.key); }));
}

/// The program that has most settings of its own. Prefers `first`; null: no setting belongs to a single program.
const ForeignProgram *ownerOf(const std::vector<ForeignEntry> &entries, const ForeignProgram *first, const std::string &text) {
  const ForeignProgram *owner = nullptr;
  size_t most = ownSettings(*first, entries);
  if (most > 0)
    owner = first;
  for (const ForeignProgram *one : foreignPrograms())
    if (size_t count = ownSettings(*one, entries); hasSyntax(*one, *first, text) && count > most)
      owner = one, most = count;
  return owner;
}

/// The setting that names a file of another program, as `--deepspeed ds.json` of a script does; null: none does.
const ForeignEntry *otherFileOf(const std::vector<ForeignEntry> &entries) {
  auto names = [](const ForeignEntry &entry) {
    return (entry.key == "deepspeed" || entry.key == "deepspeed_config" || entry.key == "config_file") && entry.value != "true";
  };
  auto found = std::find_if(entries.begin(), entries.end(), names);
  return found == entries.end() ? nullptr : &*found;
}

std::optional<std::string> readText(const std::string &path, uint32_t &file, dsl::Sources &sources, dsl::Diagnostics &diagnostics) {
  engine::Result<std::string> read = files::readBoundedText(path, "the run", largestForeignFile);
  std::string text = read.ok() ? std::move(*read) : "", wrong = read.ok() ? "" : read.status().message();
  if (text.compare(0, byteOrderMark.size(), byteOrderMark) == 0)
    text.erase(0, byteOrderMark.size());
  if (wrong.empty() && text.find('\0') != std::string::npos)
    wrong = "the run '" + path + "' is not a text file: it contains a zero byte";
  else if (wrong.empty() && text.find_first_not_of(" \t\r\n") == std::string::npos)
    wrong = "the run '" + path + "' is empty";
  file = sources.add(path, wrong.empty() ? text : "");
  if (wrong.empty())
    return text;
  diagnostics.error(dsl::Code::F1, {file, 0, 0, 1}, wrong);
  return std::nullopt;
}

/// Adds the settings of files that settings name, and of those that these name. They are next to the file itself, or among `known`, which a
/// script has.
class References {
public:
  References(ForeignFile &file, const std::map<std::string, ReferencedText> &known, dsl::Sources &sources, dsl::Diagnostics &diagnostics)
      : file(file), known(known), sources(sources), diagnostics(diagnostics) {}

  void followAll() {
    const std::vector<ForeignEntry> own = file.entries;
    for (ForeignEntry &entry : file.entries)
      if (std::optional<ForeignReference> reference = file.program->referenceOf(entry); reference && reference->isOptional)
        entry.unknown.reset(); // it does not matter which file is missing
    for (const ForeignEntry &entry : own)
      if (std::optional<ForeignReference> reference = file.program->referenceOf(entry); reference && !diagnostics.hasErrors())
        follow(entry, *reference, deepest);
  }

private:
  static constexpr int deepest = 3; ///< files that name files

  void follow(const ForeignEntry &entry, const ForeignReference &reference, int levels) {
    std::optional<std::string> text = textOf(entry, reference);
    if (!text)
      return;
    uint32_t place = sources.add(pathOf(entry), *text);
    std::vector<ForeignEntry> entries = reference.program->parse(*text, place, /*isDump=*/false, diagnostics);
    reference.program->complete(entries);
    for (ForeignEntry &one : entries) {
      std::optional<ForeignReference> next = reference.program->referenceOf(one);
      if (next && levels > 1 && !diagnostics.hasErrors()) {
        next->prefix = reference.prefix + next->prefix;
        follow(one, *next, levels - 1);
      }
      one.key = reference.prefix + one.key;
      file.entries.push_back(std::move(one));
    }
  }

  std::string pathOf(const ForeignEntry &entry) const { return (std::filesystem::path(file.path).parent_path() / entry.value).string(); }

  /// The text of the file that an entry names. Nothing if it is missing, which is an error unless it is optional.
  std::optional<std::string> textOf(const ForeignEntry &entry, const ForeignReference &reference) {
    dsl::Sources others;
    dsl::Diagnostics wrong(others);
    uint32_t number = 0;
    if (auto found = known.find(entry.value); found == known.end()) {
      std::optional<std::string> text = reference.isOptional ? std::nullopt : readText(pathOf(entry), number, others, wrong);
      if (text || reference.isOptional)
        return text;
    } else if (!found->second.unknown) {
      return found->second.text;
    } else if (!found->second.unknown->help.empty()) {
      diagnostics.error(dsl::Code::F1, entry.at, fmt::format("'{}' names a file that depends on {}", entry.key, found->second.unknown->why))
          .help(entry.at, found->second.unknown->help);
      return std::nullopt;
    } else if (reference.isOptional) {
      return std::nullopt;
    }
    const std::string why = wrong.all().empty() ? "its text is not known" : wrong.all().front().message;
    diagnostics.error(dsl::Code::F1, entry.at, fmt::format("'{}' names a file that cannot be read: {}", entry.key, why))
        .help(entry.at, "it is looked for next to the file that names it");
    return std::nullopt;
  }

  ForeignFile &file;
  const std::map<std::string, ReferencedText> &known;
  dsl::Sources &sources;
  dsl::Diagnostics &diagnostics;
};

/// The keys of the entries, as a file in YAML has them.
std::string keysOf(const std::vector<ForeignEntry> &entries) {
  std::string text;
  for (const ForeignEntry &entry : entries)
    text += entry.key + ":\n";
  return text;
}

} // namespace

std::optional<ForeignFile> readForeignFile(const std::string &path, const ForeignProgram *program, dsl::Sources &sources,
                                           dsl::Diagnostics &diagnostics, const GivenVariables &given) {
  uint32_t number = 0;
  std::optional<std::string> text = readText(path, number, sources, diagnostics);
  if (!text)
    return std::nullopt;
  Recognized found = byContent(*text);
  if (!found.program) // the syntax may be broken, and the error should be about that
    found = byName(path);
  dsl::Location at = {number, 1, 1, 1};
  auto refuse = [&](const std::string &message) {
    diagnostics.error(dsl::Code::F1, at, message).help(at, "--from-format says whose it is");
  };
  if (!program && (!found.program || found.program->isNested())) {
    const char *other = otherProgramOf(*text);
    if (other)
      refuse(fmt::format("this is a file of {}, which npar does not read; it reads files of {}", other, programNames()));
    else if (!found.program)
      refuse("unknown kind of file: it has no setting of " + programNames());
    if (other || !found.program)
      return std::nullopt;
  }
  ForeignFile result;
  std::map<std::string, ReferencedText> texts;
  result.path = path;
  result.program = program ? program : found.program;
  result.isDump = result.program == found.program && found.isDump;
  if (result.program->isShell(*text) && !result.isDump) {
    auto isReference = [&](const ForeignEntry &entry) {
      return std::any_of(foreignPrograms().begin(), foreignPrograms().end(), [&](const ForeignProgram *one) {
        return hasSyntax(*one, *result.program, *text) && one->referenceOf(entry).has_value();
      });
    };
    ShellRun run = readShellRun(path, number, given, isReference, sources, diagnostics);
    result.entries = std::move(run.entries), result.assumed = std::move(run.assumed), texts = std::move(run.texts);
  } else {
    result.entries = result.program->parse(*text, number, result.isDump, diagnostics);
  }
  if (!diagnostics.hasErrors() && result.entries.empty())
    diagnostics.error(dsl::Code::F1, at, std::string("this has no setting of ") + result.program->name());
  if (diagnostics.hasErrors())
    return std::nullopt;
  const ForeignProgram *owner = result.isDump ? result.program : ownerOf(result.entries, result.program, *text);
  const bool isCommand = result.program->isShell(*text) && !result.isDump;
  if (const char *other = isCommand && !program && owner != result.program ? otherProgramOf(keysOf(result.entries)) : nullptr) {
    refuse(fmt::format("this is a command of {}, which npar does not read; it reads those of {}", other, programNames()));
    return std::nullopt;
  }
  if (program && owner && owner != program && ownSettings(*program, result.entries) == 0) {
    diagnostics.error(dsl::Code::F1, at, fmt::format("this has settings that only {} has, and none of {}", owner->name(), program->name()))
        .help(at, std::string("--from-format ") + owner->key() + " reads it");
    return std::nullopt;
  }
  if (!program && !owner) {
    if (const ForeignEntry *other = otherFileOf(result.entries)) {
      diagnostics.error(dsl::Code::F1, other->at, fmt::format("this script trains by the settings of '{}'", other->value.substr(0, 60)))
          .help(other->at, "give that file by --from, and the number of devices by --world");
      return std::nullopt;
    }
    refuse(fmt::format("unknown kind of file: it has no setting that only {} has", programNames()));
    for (const std::string &sentence : result.assumed)
      diagnostics.warning(at, sentence);
    return std::nullopt;
  }
  if (!program)
    result.program = owner;
  result.program->complete(result.entries);
  References(result, texts, sources, diagnostics).followAll();
  if (diagnostics.hasErrors())
    return std::nullopt;
  return result;
}

} // namespace npar::foreign
