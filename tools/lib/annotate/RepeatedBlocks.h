// Finds the repeated block of a model that a path belongs to.
#pragma once

#include "dsl/Program.h"
#include "engine/program/Program_generated.h"

#include <string>
#include <vector>

namespace npar::annotate {

/// "h.3" of "h.3.attn", "model.layers.3" of "model.layers.3.mlp": the block that a path is in; empty outside of blocks.
std::string blockOf(const std::string &path, const std::vector<dsl::Repeat> &repeats);

/// Number of blocks that each stage computes.
std::vector<size_t> blocksOfStages(const program::Program &program, const std::vector<dsl::Repeat> &repeats);

} // namespace npar::annotate
