// Defines the flags --machine and --place, and finds what they name.
#include "tools/npar/model/MachineFlag.h"

#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

namespace npar::driver {

void addMachineTo(CLI::App &app, ModelOptions &model) {
  app.add_option("--machine", model.machine,
                 "machine that times are planned for: a file written by `npar machine measure`, a name in the standard library, or here: "
                 "this machine, "
                 "measured at first use (default: reference, which has no links between hosts)")
      ->type_name("NAME")
      ->check(notEmpty());
}

void addDevicesTo(CLI::App &app, ModelOptions &model) {
  app.add_option("--devices", model.devices, "number of devices of each host that ranks use (default: all)")
      ->type_name("K")
      ->check(wholeNumber(1, int64_t{1} << 20));
}

ExitCode findMachine(ModelOptions &model) {
  if (model.devices > 0 && !model.machine)
    return fail(ExitCode::Usage, "--devices needs --machine NAME, whose hosts have the devices");
  if (!model.machine || model.isCompiled())
    return ExitCode::Good;
  Outcome<std::optional<std::string>> path = reported(planner::machineFile(*model.machine, terminal()));
  if (path.ok())
    model.machine = *path;
  return path.code();
}

void addPlaceTo(CLI::App &app, std::optional<std::string> &place) {
  app.add_option("--place", place,
                 "placement of ranks on hosts, overriding the plan: cluster, spread, or mesh axes with the slowest first, such as 'pp, dp "
                 "inside tp'")
      ->type_name("ORDER")
      ->check(notEmpty());
}

Outcome<program::PlaceWords> placeWords(const std::optional<std::string> &place, const program::Program &program) {
  if (!place)
    return placeOf(program);
  engine::Result<program::PlaceWords> words = program::readPlace(*place);
  if (!words.ok())
    return fail(ExitCode::Usage, words.status().message());
  return *words;
}

} // namespace npar::driver
