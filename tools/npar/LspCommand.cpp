// `npar lsp`: a language server for editors on the standard streams.
#include "tools/npar/Command.h"

#include "tools/npar/lsp/Server.h"
#include "tools/npar/terminal/Talk.h"

#include <csignal>
#include <unistd.h>

namespace npar::driver {
namespace {

constexpr const char *howToUse = "your editor starts `npar lsp` and talks to it on the standard streams\n"
                                 "npar: help: in the editor's settings, make `npar lsp` the language server of *.npar files; "
                                 "tools/EDITORS.md has them for Neovim, Helix, Emacs and VS Code";

ExitCode runLsp(bool delimited) {
  std::signal(SIGPIPE, SIG_IGN); // an editor that is gone
  if (::isatty(STDIN_FILENO) && !delimited)
    printRemark(std::string(howToUse) + "\nnpar: waiting for an editor; Ctrl-D ends this");
  // Only the protocol reaches the editor: what anything else prints goes to standard error.
  int out = ::dup(STDOUT_FILENO);
  if (out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return ExitCode::RunFailed;
  switch (serve(stdin, out, delimited)) {
  case ServerEnd::Good:
    return ExitCode::Good;
  case ServerEnd::Early:
    return ExitCode::BadInput;
  case ServerEnd::NoEditor:
    return fail(ExitCode::BadInput, std::string("no editor has sent a message: ") + howToUse);
  }
  return ExitCode::Internal;
}

} // namespace

Command addLspCommand(CLI::App &driver) {
  auto delimited = std::make_shared<bool>(false);
  CLI::App *app = driver.add_subcommand("lsp", "serve an editor: errors while you type, what each rule costs, completion\n\n"
                                               "An editor starts it and talks to it on the standard streams (language server protocol\n"
                                               "3.17). tools/EDITORS.md has the settings for editors.\n\n"
                                               "Example:\n"
                                               "  npar lsp --stdio\n");
  app->add_flag("--stdio", "talk on the standard streams: the only way, the flag is for editors that pass it");
  app->add_flag("--delimited", *delimited, "separate messages by lines `// -----`, and indent answers: to try the server by hand");
  return {app, [delimited] { return runLsp(*delimited); }};
}

} // namespace npar::driver
