// The flags that select the sources of a model's inputs and override its data block, for `npar train`, `eval` and `data`.
#pragma once

#include "tools/lib/models/FedInputs.h"
#include "tools/npar/terminal/CliApp.h"

namespace npar::driver {

struct DataFlags : engine::GivenData {
  void addFilesTo(CLI::App &app);
  /// Adds --text and --tokenizer.
  void addTextsTo(CLI::App &app);
  /// Adds --data-order and --random-data, for commands that train.
  void addOrderTo(CLI::App &app);
};

} // namespace npar::driver
