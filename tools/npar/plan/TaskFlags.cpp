// Defines and checks the flags that describe the task of a search.
#include "tools/npar/plan/TaskFlags.h"

#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

void TaskFlags::addTo(CLI::App &app) {
  app.option_defaults()->group("Model and machine");
  addModelFlags(app, model);
  app.get_option("MODEL")->description("model file (.npar), or name of a model in the standard library");
  app.get_option("--plan")->group(""); // it is refused by name: these commands make their own plans
  addMachineTo(app, model);
  addDevicesTo(app, model);
  app.add_option("--hosts", hosts, "number of hosts that the plan must fill (default: 1; all hosts if the machine has several kinds)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 17));
  app.add_option("--batch", batch, "sequences per training step (default: the train block's)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 31));
  app.option_defaults()->group("Search");
  app.add_option("--jobs", jobs, "number of plans compiled in parallel (default: the machine's cores)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
}

ExitCode TaskFlags::check(const std::string &name, FileClaims &files) const {
  if (model.isCompiled())
    return fail(ExitCode::Usage, "'" + model.model + "' is a compiled program: " + name + " needs the model file (.npar)");
  files.read("the model", model.file());
  if (model.machine)
    files.read("the machine", *model.machine);
  if (ExitCode code = reported(files.check()); code != ExitCode::Good || model.model.empty())
    return code;
  ModelOptions text = model;
  text.plan = "none";
  return reported(models::claimText(text, files));
}

} // namespace npar::driver
