// `npar fmt`: writes texts in npar's layout, or names those that are not in it.
#include "tools/npar/Command.h"

#include "dsl/format/Format.h"
#include "dsl/parse/ReadText.h"
#include "engine/files/AtomicFile.h"
#include "engine/readable/Printable.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <unistd.h>

namespace npar::driver {
namespace {

struct FmtFlags {
  std::vector<std::string> files;
  bool check = false;
};

/// Standard input up to its end: a pipe, a socket, a file from its place on, or a terminal.
engine::Result<std::string> readInput() {
  std::string text(dsl::maximumText + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    ssize_t got = ::read(STDIN_FILENO, text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR)
      return engine::Status::badInput(std::string("cannot read standard input: ") + std::strerror(errno));
    if (got == 0)
      break;
    size += static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  if (size > dsl::maximumText)
    return engine::Status::badInput("standard input has more than the " + std::to_string(dsl::maximumText) +
                                    " bytes (1 MiB) that are read");
  text.resize(size);
  return text;
}

/// Puts a text in the place of a file's.
engine::Status replace(const std::string &path, const std::string &text) {
  if (::access(path.c_str(), W_OK) != 0) // its folder alone would allow it
    return engine::Status::badInput("cannot write '" + path + "': " + std::strerror(errno));
  return files::writeFileAtomically(path, text.data(), text.size());
}

/// Formats one file. Sets `differs` if the file was not in npar's layout.
ExitCode formatOne(const std::string &path, bool check, bool &differs) {
  bool isInput = path == "-";
  std::string name = isInput ? "standard input" : path;
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  uint32_t file = 0;
  std::optional<std::string> formatted;
  if (isInput) {
    engine::Result<std::string> input = readInput();
    if (!input.ok())
      return fail(input.status());
    file = sources.add(name, std::move(*input));
    formatted = dsl::format(file, sources, diagnostics);
  } else if (dsl::readText(path, file, name, {}, sources, diagnostics)) {
    formatted = dsl::format(file, sources, diagnostics);
  }
  if (!formatted) {
    diagnostics.print(std::cerr);
    return diagnostics.all().back().code == dsl::nameOf(dsl::Code::I1) ? ExitCode::Internal : ExitCode::BadInput;
  }
  bool isSame = *formatted == sources.text(file);
  differs |= !isSame;
  if (isInput && !check)
    std::cout << *formatted;
  else if (!isSame)
    std::cout << readable::printableName(name) << '\n';
  if (isInput || check || isSame)
    return ExitCode::Good;
  engine::Status written = replace(path, *formatted);
  return written.ok() ? ExitCode::Good : fail(written);
}

ExitCode runFmt(const FmtFlags &flags) {
  ExitCode worst = ExitCode::Good;
  bool differs = false;
  for (const std::string &path : flags.files)
    worst = std::max(worst, formatOne(path, flags.check, differs));
  return worst == ExitCode::Good && flags.check && differs ? ExitCode::CheckFailed : worst;
}

} // namespace

Command addFmtCommand(CLI::App &driver) {
  auto flags = std::make_shared<FmtFlags>();
  CLI::App *app = driver.add_subcommand(
      "fmt", "write models and plans in npar's layout\n\n"
             "Example:\n"
             "  npar fmt hello.npar\n"
             "\n"
             "Rewrites the files whose layout differs, and prints their names. Only white space changes: comments and\n"
             "line breaks within statements stay. A file with syntax errors stays as it is.\n");
  app->add_option("FILES", flags->files, "files of .npar text; - reads standard input and writes standard output")->required();
  app->add_flag("--check", flags->check, "write nothing; exit with code 3 if a file's layout differs");
  return {app, [flags] { return runFmt(*flags); }};
}

} // namespace npar::driver
