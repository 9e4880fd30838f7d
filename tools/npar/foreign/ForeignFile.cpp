// Reads a file of settings and finds out whose it is.
#include "tools/npar/foreign/ForeignFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace npar::driver {
namespace {

constexpr size_t largest = 1 << 20; ///< bytes; such files have a few thousand

struct Guess {
  ForeignFormat format;
  bool isDump = false;
};

/// By the first line that no other of the formats could have.
std::optional<Guess> guess(const std::string &text) {
  static const std::regex table("\\s*\\[[A-Za-z_][A-Za-z0-9_.]*\\]\\s*(#.*)?"),
      flag("(.*[\\s\"'(=])?--[a-zA-Z][-_a-zA-Z0-9]*([\\s\"'=].*)?"), key("[a-z_]+:(\\s.*)?");
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{')
    return Guess{ForeignFormat::DeepSpeed};
  if (readDump(text, 0).size() > 2) // in the middle of a log, maybe
    return Guess{ForeignFormat::Megatron, true};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, 200); // std::regex recurses once per letter
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line[start] == '#')
      continue;
    if (std::regex_match(line, table))
      return Guess{ForeignFormat::Torchtitan};
    if (std::regex_match(line, key))
      return Guess{ForeignFormat::Accelerate};
    if (std::regex_match(line, flag))
      return Guess{ForeignFormat::Megatron};
  }
  return std::nullopt;
}

std::optional<Guess> byName(const std::string &path) {
  std::string end = std::filesystem::path(path).extension().string();
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
  std::error_code ignored;
  std::string text, wrong;
  if (std::filesystem::is_directory(path, ignored)) {
    wrong = "cannot read the run '" + path + "': it is a directory";
  } else if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    wrong = "cannot read the run '" + path + "': it is no regular file";
  } else {
    std::ifstream file(path, std::ios::binary);
    text.resize(largest + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
    if (!file.is_open() || file.bad())
      wrong = "cannot read the run '" + path + "': " + (errno ? std::strerror(errno) : "it cannot be read");
    else if (text.size() > largest)
      wrong = "the run '" + path + "' is larger than 1 MiB, which no file of settings is";
    else if (text.find('\0') != std::string::npos)
      wrong = "the run '" + path + "' is no text: it has a zero byte";
    else if (text.find_first_not_of(" \t\r\n") == std::string::npos)
      wrong = "the run '" + path + "' is empty";
  }
  uint32_t file = sources.add(path, wrong.empty() ? text : "");
  if (!wrong.empty()) {
    diagnostics.error({file, 0, 0, 1}, wrong);
    return std::nullopt;
  }
  std::optional<Guess> found = guess(text);
  if (!found) // its syntax may be broken: the error is to be about that
    found = byName(path);
  if (!found && !format) {
    diagnostics
        .error({file, 1, 1, 1},
               "this is no run that npar knows: neither flags of Megatron-LM, nor a torchtitan TOML, a DeepSpeed JSON or an "
               "Accelerate YAML")
        .help({file, 1, 1, 1}, "--format says whose it is");
    return std::nullopt;
  }
  ForeignFile read;
  read.format = format ? *format : found->format;
  read.isDump = read.format == ForeignFormat::Megatron && found && found->isDump;
  switch (read.format) {
  case ForeignFormat::Megatron:
    read.entries = read.isDump ? readDump(text, file) : readFlags(text, file, diagnostics);
    break;
  case ForeignFormat::Torchtitan:
    read.entries = readToml(text, file, diagnostics);
    break;
  case ForeignFormat::DeepSpeed:
  case ForeignFormat::Accelerate:
    read.entries = readYaml(text, file, read.format == ForeignFormat::DeepSpeed, diagnostics);
    break;
  }
  if (!diagnostics.hasErrors() && read.entries.empty())
    diagnostics.error({file, 1, 1, 1}, std::string("this has no setting of ") + nameOf(read.format));
  if (diagnostics.hasErrors())
    return std::nullopt;
  return read;
}

} // namespace npar::driver
