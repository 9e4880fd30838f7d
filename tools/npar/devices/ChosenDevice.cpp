// Which devices a command's programs run on.
#include "tools/npar/devices/ChosenDevice.h"

#include "engine/backends/cuda/CudaDevice.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

void ChosenDevice::addGpuFlagsTo(CLI::App &app) {
  app.add_option("--products", products,
                 "with --backend cuda, who multiplies matrices: own kernels, with the processor's bits; cuBLASLt where a trial gives these "
                 "bits, too (matching); or wherever it can (library)")
      ->check(CLI::IsMember({"own", "matching", "library"}))
      ->capture_default_str();
  app.add_option("--attention", attention,
                 "with --backend cuda, who computes attention: own kernels, with the processor's bits; or cuDNN wherever it can (library)")
      ->check(CLI::IsMember({"own", "library"}))
      ->capture_default_str();
  app.add_flag("--cuda-graph", graphs,
               "with --backend cuda, start what a rank computes between two communications as one CUDA graph, recorded in the second step");
  app.add_option(
         "--gpus", gpus,
         "with --backend cuda, GPUs of each process, over which its ranks are spread in equal blocks (default: the host's, shared by "
         "the processes of a job that run on it; one per rank at most)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
}

void ChosenDevice::addTo(CLI::App &app) {
  app.add_option("--backend", backend, "cpu, or cuda: the GPUs that `npar devices` shows")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  addGpuFlagsTo(app);
}

void ChosenDevice::applyTo(engine::SessionOptions &options) const {
  options.backend = backend, options.products = products, options.attention = attention;
  options.record = graphs, options.gpus = gpus;
}

/// The flag that says something about GPUs where there are none, and what it says.
static std::string withoutGpus(const ChosenDevice &device) {
  if (device.products != "own")
    return "--products " + device.products + " has no effect without --backend cuda: it says who multiplies on a GPU";
  if (device.attention != "own")
    return "--attention " + device.attention + " has no effect without --backend cuda: it says who computes attention on a GPU";
  if (device.graphs)
    return "--cuda-graph has no effect without --backend cuda: it says how work is started on a GPU";
  if (device.gpus > 0)
    return "--gpus " + std::to_string(device.gpus) + " has no effect without --backend cuda: it says how many GPUs a process has";
  return "";
}

ExitCode chooseTargets(ModelOptions &model, const ChosenDevice &device) {
  if (std::string why = withoutGpus(device); device.backend != "cuda" && !why.empty())
    return fail(ExitCode::Usage, why);
  if (device.backend != "cuda" || model.isCompiled())
    return ExitCode::Good;
  engine::Result<std::string> target = engine::cuda::targetOfMachine();
  if (!target.ok())
    return fail(target.status());
  model.targets = {*target};
  return ExitCode::Good;
}

} // namespace npar::driver
