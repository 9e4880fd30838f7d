// `npar completion`: prints a script for completion in a shell, generated from the driver's commands and flags.
#include "tools/npar/Command.h"

#include "tools/npar/completion/CompletionTable.h"

#include <iostream>

namespace npar::driver {

Command addCompletionCommand(CLI::App &driver) {
  auto shell = std::make_shared<std::string>("bash");
  CLI::App *app = driver.add_subcommand("completion", "print a script that completes npar's command lines in a shell\n\n"
                                                      "Example:\n"
                                                      "  source <(npar completion)\n"
                                                      "  npar completion fish | source\n");
  app->add_option("SHELL", *shell, "shell: bash (default), zsh or fish")->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return {app, [&driver, shell] {
            CompletionTable table = completionTable(driver);
            std::cout << (*shell == "fish" ? fishScript(table) : *shell == "zsh" ? zshScript(table) : bashScript(table));
            return ExitCode::Good;
          }};
}

} // namespace npar::driver
