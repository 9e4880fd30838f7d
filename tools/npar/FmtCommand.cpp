// `npar fmt`: writes texts in npar's layout, or names those that are not in it.
#include "tools/npar/Command.h"

#include "dsl/format/Format.h"
#include "dsl/parse/ReadText.h"
#include "engine/files/AtomicFile.h"
#include "engine/readable/Printable.h"
#include "tools/npar/terminal/Talk.h"

#include <iostream>

namespace npar::driver {
namespace {

struct FmtFlags {
  std::vector<std::string> files;
  bool check = false;
};

/// Formats one file. Sets `differs` if the file was not in npar's layout.
ExitCode formatOne(const std::string &path, bool check, bool &differs) {
  bool isInput = path == "-";
  std::string name = isInput ? "standard input" : path;
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  uint32_t file = 0;
  std::optional<std::string> formatted;
  if (isInput) {
    engine::Result<std::vector<uint8_t>> bytes = files::readFile("/proc/self/fd/0", dsl::maximumText);
    if (!bytes.ok())
      return fail(ExitCode::BadInput, "cannot read standard input: " + bytes.status().message());
    file = sources.add(name, std::string(bytes->begin(), bytes->end()));
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
  engine::Status written = files::writeFileAtomically(path, formatted->data(), formatted->size());
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
