// A model's parameters and checkpoint rules in the form of a program, for commands that read weights and run nothing: no compiler is
// needed.
#pragma once

#include "dsl/Program.h"
#include "engine/program/Program_generated.h"
#include "tools/lib/models/Compilation.h"

#include <cstdint>
#include <vector>

namespace npar::models {

/// Elaborates a model for its parameters alone: without a plan, and with a batch that no group of samples must fit into.
engine::Result<ElaboratedModel> elaborateParameters(ModelOptions options, engine::Observer &observer, SettingsList settings = {});

/// Holds variables and rules alone: no checks have run over it and no session may.
class ParameterProgram {
public:
  explicit ParameterProgram(const dsl::Model &model);
  const program::Program &root() const;

private:
  std::vector<uint8_t> bytes;
};

} // namespace npar::models
