// `npar guard`: what `npar launch` has a launcher start. Not for people, so no help lists it.
#include "tools/npar/Command.h"

#include "tools/npar/job/Guard.h"

namespace npar::driver {

Command addGuardCommand(CLI::App &driver) {
  CLI::App *app = driver.add_subcommand("guard", "run a command of npar so that a launcher does not see the signal that ends it");
  app->prefix_command();
  return {app, [app] { return guard(app->remaining()); }, /*takesRest=*/true};
}

} // namespace npar::driver
