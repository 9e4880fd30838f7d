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
  int64_t gpus = 0; ///< GPUs of this process; 0: its share of the host's

  /// Adds `--backend cpu | cuda` and `--products`, for commands that compute, and the flags of `addGpuFlagsTo`.
  void addTo(CLI::App &app);
  /// Adds `--products portable | pairs | fastest`.
  void addOrderTo(CLI::App &app);
  /// Adds the flags for GPUs only, for commands that define `--backend` themselves.
  void addGpuFlagsTo(CLI::App &app);
  void applyTo(engine::SessionOptions &options) const;
};

/// With backend `cuda`, sets the targets of a text to this machine's GPUs; a compiled program keeps its own. Fails if npar can use no GPU,
/// or if a flag for GPUs is given without that backend.
ExitCode chooseTargets(ModelOptions &model, const ChosenDevice &device);

} // namespace npar::driver
