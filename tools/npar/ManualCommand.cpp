// `npar manual`: writes the manual pages of npar and its commands, for packages. No help lists it.
#include "tools/npar/Command.h"

#include "engine/files/AtomicFile.h"
#include "engine/files/Folders.h"
#include "tools/npar/manual/ManualPage.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {
namespace {

engine::Status writePages(const CLI::App &driver, const std::string &folder) {
  TRY_STATUS(files::makeFolder(folder));
  auto write = [&](const std::string &name, const CLI::App &app) {
    std::string page = manualPage(app);
    return files::writeFileAtomically(folder + "/" + name + ".1", page.data(), page.size());
  };
  TRY_STATUS(write("npar", driver));
  for (const CLI::App *app : driver.get_subcommands([](const CLI::App *each) { return !each->get_group().empty(); }))
    TRY_STATUS(write("npar-" + app->get_name(), *app));
  return {};
}

} // namespace

Command addManualCommand(CLI::App &driver) {
  auto folder = std::make_shared<std::string>();
  CLI::App *app = driver.add_subcommand("manual", "write the manual pages of npar and its commands\n\n"
                                                  "Example:\n"
                                                  "  npar manual -o man1\n");
  app->add_option("-o,--output", *folder, "folder to write the pages to")->type_name("DIR")->required();
  return {app, [&driver, folder] {
            engine::Status written = writePages(driver, *folder);
            return written.ok() ? ExitCode::Good : fail(written);
          }};
}

} // namespace npar::driver
