// Reads a file of settings and recognizes the program that it belongs to.
#include "tools/lib/foreign/ForeignFile.h"

#include "engine/files/BoundedText.h"
#include "tools/lib/foreign/EntryList.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/ShellText.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

namespace npar::foreign {
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

/// "neither Megatron-LM flags, nor a torchtitan TOML, ... or an Accelerate YAML"
std::string noneOfTheirs() {
  std::string text = "neither ";
  const std::vector<const ForeignProgram *> &programs = foreignPrograms();
  for (size_t i = 0; i < programs.size(); ++i)
    text += std::string(i == 0 ? "" : i == 1 ? ", nor " : i + 1 < programs.size() ? ", " : " or ") + programs[i]->file();
  return text;
}

} // namespace

std::optional<ForeignFile> readForeignFile(const std::string &path, const ForeignProgram *program, dsl::Sources &sources,
                                           dsl::Diagnostics &diagnostics, const GivenVariables &given) {
  engine::Result<std::string> read = files::readBoundedText(path, "the run", largestForeignFile);
  std::string text = read.ok() ? std::move(*read) : "", wrong = read.ok() ? "" : read.status().message();
  if (text.compare(0, byteOrderMark.size(), byteOrderMark) == 0)
    text.erase(0, byteOrderMark.size());
  if (wrong.empty() && text.find('\0') != std::string::npos)
    wrong = "the run '" + path + "' is not a text file: it contains a zero byte";
  else if (wrong.empty() && text.find_first_not_of(" \t\r\n") == std::string::npos)
    wrong = "the run '" + path + "' is empty";
  uint32_t file = sources.add(path, wrong.empty() ? text : "");
  if (!wrong.empty()) {
    diagnostics.error({file, 0, 0, 1}, wrong);
    return std::nullopt;
  }
  Recognized found = byContent(text);
  if (!found.program) // the syntax may be broken, and the error should be about that
    found = byName(path);
  if (!found.program && !program) {
    diagnostics.error({file, 1, 1, 1}, "unknown kind of file: " + noneOfTheirs()).help({file, 1, 1, 1}, "--from-format says whose it is");
    return std::nullopt;
  }
  ForeignFile result;
  result.program = program ? program : found.program;
  result.isDump = result.program == found.program && found.isDump;
  if (result.program->isShell() && !result.isDump) {
    ShellRun run = readShellRun(path, file, given, sources, diagnostics);
    result.entries = std::move(run.entries), result.assumed = std::move(run.assumed);
  } else {
    result.entries = result.program->parse(text, file, result.isDump, diagnostics);
  }
  if (!diagnostics.hasErrors() && result.entries.empty())
    diagnostics.error({file, 1, 1, 1}, std::string("this has no setting of ") + result.program->name());
  if (diagnostics.hasErrors())
    return std::nullopt;
  return result;
}

} // namespace npar::foreign
