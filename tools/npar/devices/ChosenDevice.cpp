// Which device a command's programs run on.
#include "tools/npar/devices/ChosenDevice.h"

#include "engine/backends/cuda/CudaDevice.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

void addDeviceTo(CLI::App &app, std::string &backend) {
  app.add_option("--backend", backend, "cpu, or cuda: the GPUs that `npar devices` shows")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
}

ExitCode chooseTargets(ModelOptions &model, const std::string &backend) {
  if (backend != "cuda" || model.isCompiled())
    return ExitCode::Good;
  engine::Result<std::string> target = engine::cuda::targetOfMachine();
  if (!target.ok())
    return fail(target.status());
  model.targets = {*target};
  return ExitCode::Good;
}

} // namespace npar::driver
