// The devices that a command's programs run on: the flags that select them, and the compilation targets that follow.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/ExitCode.h"

#include <string>

namespace npar::driver {

struct ChosenDevice {
  std::string backend = "cpu", order = "fastest", products = "own", attention = "own";
  bool graphs = false;
  int64_t gpus = 0;    ///< GPUs of this process; 0: its share of the host's
  int64_t devices = 0; ///< of this host, for all of its processes; 0: not given

  /// Adds `--backend cpu | cuda` and `--products`, for commands that compute, and the flags of `addGpuFlagsTo`.
  void addTo(CLI::App &app);
  /// Adds `--products portable | pairs | fastest`.
  void addOrderTo(CLI::App &app);
  /// Adds the flags for GPUs and `--devices`, for commands that define `--backend` themselves.
  void addGpuFlagsTo(CLI::App &app);
  void applyTo(engine::SessionOptions &options) const;
};

/// The processes of a job, as far as they share devices.
struct DeviceSharers {
  int64_t onHost = 1, hosts = 1; ///< processes on this host; hosts
  bool isAlone = true;           ///< there is one process
};

/// With backend `cuda`, sets the targets of a text to this machine's GPUs; a compiled program keeps its own. Divides --devices among the
/// processes of this host: GPUs, or without GPUs ranks. The model gets the number of ranks that a mesh with `rest` has by default: that of
/// the devices, else of the processes. Fails if npar can use no GPU, if a flag for GPUs is given without that backend, and with both
/// numbers if this host has fewer GPUs than --devices.
ExitCode chooseDevices(ModelOptions &model, ChosenDevice &device, const DeviceSharers &sharers);

} // namespace npar::driver
