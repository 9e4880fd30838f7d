// Which device a command's programs run on.
#include "tools/npar/devices/ChosenDevice.h"

#include "engine/backends/cuda/CudaDevice.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

void addLibrariesTo(CLI::App &app, std::string &products, std::string &attention) {
  app.add_option("--products", products,
                 "with --backend cuda, who multiplies matrices: own kernels, with the processor's bits; cuBLASLt where a trial gives these "
                 "bits, too (matching); or wherever it can (library)")
      ->check(CLI::IsMember({"own", "matching", "library"}))
      ->capture_default_str();
  app.add_option("--attention", attention,
                 "with --backend cuda, who computes attention: own kernels, with the processor's bits; or cuDNN wherever it can (library)")
      ->check(CLI::IsMember({"own", "library"}))
      ->capture_default_str();
}

void addGraphsTo(CLI::App &app, bool &graphs) {
  app.add_flag("--cuda-graph", graphs,
               "with --backend cuda, start what a rank computes between two communications as one CUDA graph, recorded in the second step");
}

ExitCode checkGraphs(bool graphs, const std::string &backend, bool traces) {
  if (graphs && backend != "cuda")
    return fail(ExitCode::Usage, "--cuda-graph has no effect without --backend cuda: it says how work is started on a GPU");
  if (graphs && traces)
    return fail(ExitCode::Usage, "--cuda-graph and --trace exclude each other: of a graph no single step's times are known");
  return ExitCode::Good;
}

void addDeviceTo(CLI::App &app, std::string &backend, std::string &products, std::string &attention) {
  app.add_option("--backend", backend, "cpu, or cuda: the GPUs that `npar devices` shows")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  addLibrariesTo(app, products, attention);
}

ExitCode chooseTargets(ModelOptions &model, const std::string &backend, const std::string &products, const std::string &attention) {
  if (backend != "cuda" && products != "own")
    return fail(ExitCode::Usage, "--products " + products + " has no effect without --backend cuda: it says who multiplies on a GPU");
  if (backend != "cuda" && attention != "own")
    return fail(ExitCode::Usage,
                "--attention " + attention + " has no effect without --backend cuda: it says who computes attention on a GPU");
  if (backend != "cuda" || model.isCompiled())
    return ExitCode::Good;
  engine::Result<std::string> target = engine::cuda::targetOfMachine();
  if (!target.ok())
    return fail(target.status());
  model.targets = {*target};
  return ExitCode::Good;
}

} // namespace npar::driver
