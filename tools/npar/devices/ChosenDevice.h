// Which devices a command's programs run on: its flags, and what a text must be compiled for.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/ExitCode.h"

#include <string>

namespace npar::driver {

struct ChosenDevice {
  std::string backend = "cpu", products = "own", attention = "own";
  bool graphs = false;
  int64_t gpus = 0; ///< of this process; 0: its share of the host's

  /// `--backend cpu | cuda` for commands that compute, and what `addGpuFlagsTo` adds.
  void addTo(CLI::App &app);
  /// All but the backend, for those who have a `--backend` of their own.
  void addGpuFlagsTo(CLI::App &app);
  void applyTo(engine::SessionOptions &options) const;
};

/// A text is compiled for the GPUs that this process has, where the backend is `cuda`; a compiled program has its targets. An error: there
/// is no GPU that npar can use, or another flag has no meaning.
ExitCode chooseTargets(ModelOptions &model, const ChosenDevice &device);

} // namespace npar::driver
