// Which repeated block of a model something is in, by its path.
#pragma once

#include "dsl/Program.h"
#include "engine/program/Program_generated.h"

#include <string>
#include <vector>

namespace npar::annotate {

/// "h.3" of "h.3.attn", "model.layers.3" of "model.layers.3.mlp": the block that a path is in; empty outside of blocks.
std::string blockOf(const std::string &path, const std::vector<dsl::Repeat> &repeats);

/// How many blocks each stage computes.
std::vector<size_t> blocksOfStages(const program::Program &program, const std::vector<dsl::Repeat> &repeats);

} // namespace npar::annotate
