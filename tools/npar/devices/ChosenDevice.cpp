// Defines the flags for devices and checks their combinations.
#include "tools/npar/devices/ChosenDevice.h"

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/program/Words.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::driver {

void ChosenDevice::addGpuFlagsTo(CLI::App &app) {
  app.add_option("--cuda-products", products,
                 "with --backend cuda, implementation of matrix products: own (npar's kernels, the CPU's bits), matching (cuBLASLt where a "
                 "trial gives the same "
                 "bits), or library (cuBLASLt wherever possible)")
      ->check(CLI::IsMember({"own", "matching", "library"}))
      ->capture_default_str();
  app.add_option(
         "--cuda-attention", attention,
         "with --backend cuda, implementation of attention: own (npar's kernels, the CPU's bits) or library (cuDNN wherever possible)")
      ->check(CLI::IsMember({"own", "library"}))
      ->capture_default_str();
  app.add_flag("--cuda-graph", graphs,
               "with --backend cuda, run each rank's work between two communications as one CUDA graph, recorded in the second step");
  app.add_option("--cuda-gpus", gpus,
                 "with --backend cuda, number of GPUs per process; ranks are distributed over them in equal blocks (default: the host's "
                 "GPUs, divided among "
                 "the job's processes on that host, at most one per rank)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  app.add_option(
         "--devices", devices,
         "number of this host's devices to use: its first K GPUs with --backend cuda, else K ranks (default: all GPUs, or the plan's "
         "ranks)")
      ->type_name("K")
      ->check(wholeNumber(1, int64_t{1} << 20));
}

void ChosenDevice::addOrderTo(CLI::App &app) {
  app.add_option("--products", order,
                 "order in which matrix products of bf16 add: portable (bit-identical on every CPU and GPU), pairs (fast on CPUs with "
                 "AVX-512-BF16), or fastest (the plan's, else the CPU's fastest)")
      ->check(CLI::IsMember({"portable", "pairs", "fastest"}))
      ->capture_default_str();
}

void ChosenDevice::addTo(CLI::App &app) {
  app.add_option("--backend", backend, "device: cpu, or cuda (the GPUs that `npar devices` lists)")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  addOrderTo(app);
  addGpuFlagsTo(app);
}

void ChosenDevice::applyTo(engine::SessionOptions &options) const {
  options.backend = backend, options.products = products, options.attention = attention;
  options.record = graphs, options.gpus = gpus;
  options.productOrder = program::valueOf<program::ProductOrder>(order).value_or(program::ProductOrder::Fastest);
}

/// The message for the first flag that has no effect without a GPU; empty if no such flag is set.
static std::string withoutGpus(const ChosenDevice &device) {
  if (device.products != "own")
    return "--cuda-products " + device.products + " has no effect without --backend cuda: it selects the matrix products of a GPU";
  if (device.attention != "own")
    return "--cuda-attention " + device.attention + " has no effect without --backend cuda: it selects the attention of a GPU";
  if (device.graphs)
    return "--cuda-graph has no effect without --backend cuda: it sets how work starts on a GPU";
  if (device.gpus > 0)
    return "--cuda-gpus " + std::to_string(device.gpus) + " has no effect without --backend cuda: it sets the number of GPUs per process";
  return "";
}

/// Divides the host's GPUs among its processes. `onHost`: GPUs of this host.
static ExitCode shareGpus(ChosenDevice &device, const DeviceSharers &sharers, int64_t onHost) {
  if (device.devices == 0)
    return ExitCode::Good;
  if (device.gpus > 0)
    return fail(ExitCode::Usage, "--devices and --cuda-gpus cannot be used together: one is per host, the other per process");
  if (device.devices > onHost)
    return fail(ExitCode::BadInput, fmt::format("--devices {}: this host has {} GPU{} that npar can see (npar devices shows them)",
                                                device.devices, onHost, onHost == 1 ? "" : "s"));
  if (device.devices % sharers.onHost != 0)
    return fail(ExitCode::BadInput,
                fmt::format("--devices {}: {} processes of this host cannot share them evenly", device.devices, sharers.onHost));
  device.gpus = device.devices / sharers.onHost;
  return ExitCode::Good;
}

ExitCode chooseDevices(ModelOptions &model, ChosenDevice &device, const DeviceSharers &sharers) {
  if (std::string why = withoutGpus(device); device.backend != "cuda" && !why.empty())
    return fail(ExitCode::Usage, why);
  if (device.backend != "cuda") {
    if (device.devices > 0 && model.isCompiled())
      return fail(ExitCode::Usage, fmt::format("--devices {} has no effect without --backend cuda: it sets the number of ranks, which a "
                                               "compiled program has already",
                                               device.devices));
    auto isWorld = [](const std::string &setting) { return setting.rfind("world=", 0) == 0; };
    if (device.devices > 0 && std::any_of(model.settings.begin(), model.settings.end(), isWorld))
      return fail(ExitCode::Usage, "--devices and --world cannot be used together without --backend cuda: both set the number of ranks");
    if (device.devices > 0)
      model.settings.push_back(fmt::format("world={}", device.devices * sharers.hosts));
    model.world = sharers.isAlone ? 0 : sharers.onHost * sharers.hosts;
    return ExitCode::Good;
  }
  engine::Result<const engine::cuda::CudaDriver *> driver = engine::cuda::CudaDriver::open();
  if (!driver.ok())
    return fail(driver.status());
  const int64_t onHost = (*driver)->devices();
  if (ExitCode code = shareGpus(device, sharers, onHost); code != ExitCode::Good)
    return code;
  const int64_t each = device.gpus > 0 ? device.gpus : std::max<int64_t>(1, onHost / sharers.onHost);
  model.world = each * sharers.onHost * sharers.hosts;
  if (model.isCompiled())
    return ExitCode::Good;
  engine::Result<std::string> target = engine::cuda::targetOfMachine();
  if (!target.ok())
    return fail(target.status());
  model.targets = {*target};
  return ExitCode::Good;
}

} // namespace npar::driver
