// Reads a file of settings and detects which program's it is.
#include "tools/lib/foreign/ForeignFile.h"

#include "engine/files/BoundedText.h"
#include "tools/lib/foreign/EntryList.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace npar::foreign {
namespace {

constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
constexpr size_t longestLine = 200; ///< bytes of a line that are examined to detect the format

struct Guess {
  ForeignFormat format;
  bool isDump = false;
};

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isWord(char c) { return isLetter(c) || c == '_' || (c >= '0' && c <= '9'); }

/// True for a TOML table: `[parallelism]`, `[a.b] # comment`.
bool isTable(std::string_view line) {
  size_t open = line.find_first_not_of(" \t"), close = line.find(']');
  if (open == std::string_view::npos || line[open] != '[' || close == std::string_view::npos || close == open + 1)
    return false;
  for (size_t i = open + 1; i < close; ++i)
    if (!(isWord(line[i]) || line[i] == '.') || (i == open + 1 && !isLetter(line[i]) && line[i] != '_'))
      return false;
  size_t after = line.find_first_not_of(" \t", close + 1);
  return after == std::string_view::npos || line[after] == '#';
}

/// True for a YAML key: `num_processes: 8`.
bool isKey(std::string_view line) {
  size_t colon = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return colon != std::string_view::npos && colon > 0 && line[colon] == ':' &&
         (colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\t');
}

/// True if the line has a flag: `... --num-layers 4`.
bool hasFlag(std::string_view line) {
  for (size_t at = line.find("--"); at != std::string_view::npos; at = line.find("--", at + 1)) {
    constexpr std::string_view before = " \t\"'(=", after = " \t\"'=";
    if ((at > 0 && before.find(line[at - 1]) == std::string_view::npos) || at + 2 >= line.size() || !isLetter(line[at + 2]))
      continue;
    size_t end = at + 3;
    while (end < line.size() && (isWord(line[end]) || line[end] == '-'))
      ++end;
    if (end == line.size() || after.find(line[end]) != std::string_view::npos)
      return true;
  }
  return false;
}

/// Guesses the format from the first line that only one format can contain.
std::optional<Guess> guess(const std::string &text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{')
    return Guess{ForeignFormat::DeepSpeed};
  if (isDump(text)) // possibly in the middle of a log
    return Guess{ForeignFormat::Megatron, true};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, longestLine);
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line[start] == '#')
      continue;
    if (isTable(line))
      return Guess{ForeignFormat::Torchtitan};
    if (isKey(line))
      return Guess{ForeignFormat::Accelerate};
    if (hasFlag(line))
      return Guess{ForeignFormat::Megatron};
  }
  return std::nullopt;
}

std::optional<Guess> byName(const std::string &path) {
  std::string end = path.substr(std::min(path.size(), path.find_last_of("./")));
  return end == ".toml"                    ? std::optional(Guess{ForeignFormat::Torchtitan})
         : end == ".json"                  ? std::optional(Guess{ForeignFormat::DeepSpeed})
         : end == ".yaml" || end == ".yml" ? std::optional(Guess{ForeignFormat::Accelerate})
                                           : std::nullopt;
}

} // namespace

const std::vector<std::pair<std::string, ForeignFormat>> &foreignFormats() {
  static const std::vector<std::pair<std::string, ForeignFormat>> formats = {{"megatron", ForeignFormat::Megatron},
                                                                             {"torchtitan", ForeignFormat::Torchtitan},
                                                                             {"deepspeed", ForeignFormat::DeepSpeed},
                                                                             {"accelerate", ForeignFormat::Accelerate}};
  return formats;
}

const char *nameOf(ForeignFormat format) {
  switch (format) {
  case ForeignFormat::Megatron:
    return "Megatron-LM";
  case ForeignFormat::Torchtitan:
    return "torchtitan";
  case ForeignFormat::DeepSpeed:
    return "DeepSpeed";
  case ForeignFormat::Accelerate:
    return "Accelerate";
  }
  return "";
}

std::optional<ForeignFile> readForeignFile(const std::string &path, std::optional<ForeignFormat> format, dsl::Sources &sources,
                                           dsl::Diagnostics &diagnostics) {
  engine::Result<std::string> read = program::readBoundedText(path, "the run", largestForeignFile);
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
  std::optional<Guess> found = guess(text);
  if (!found) // the syntax may be broken, and the error should be about that
    found = byName(path);
  if (!found && !format) {
    diagnostics
        .error({file, 1, 1, 1}, "unknown kind of file: neither Megatron-LM flags, nor a torchtitan TOML, a DeepSpeed JSON or an "
                                "Accelerate YAML")
        .help({file, 1, 1, 1}, "--from-format says whose it is");
    return std::nullopt;
  }
  ForeignFile result;
  result.format = format ? *format : found->format;
  result.isDump = result.format == ForeignFormat::Megatron && found && found->isDump;
  switch (result.format) {
  case ForeignFormat::Megatron:
    result.entries = result.isDump ? readDump(text, file, diagnostics) : readFlags(text, file, diagnostics);
    break;
  case ForeignFormat::Torchtitan:
    result.entries = readToml(text, file, diagnostics);
    break;
  case ForeignFormat::DeepSpeed:
    result.entries = readJson(text, file, diagnostics);
    break;
  case ForeignFormat::Accelerate:
    result.entries = readYaml(text, file, diagnostics);
    break;
  }
  if (!diagnostics.hasErrors() && result.entries.empty())
    diagnostics.error({file, 1, 1, 1}, std::string("this has no setting of ") + nameOf(result.format));
  if (diagnostics.hasErrors())
    return std::nullopt;
  return result;
}

} // namespace npar::foreign
