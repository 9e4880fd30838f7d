// The names in a model that plans can refer to: axes, repeats, layers, operations and constants.
#pragma once

#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"

#include <string>
#include <utility>
#include <vector>

namespace npar::verify {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct ModelOutline {
  models::ModelOptions options;    ///< as on the command line, without plan
  std::string file, name;          ///< the text's file; the model's name
  Settings settings;               ///< that make it small; empty at its own size
  std::vector<std::string> axes;   ///< of its tensors
  std::vector<std::string> chains; ///< labels of its repeats
  int64_t blocksPerDepth = 1;      ///< blocks of all repeats together for each unit of the constant `depth`
  std::string block;               ///< path of the first block, such as "h.0"; empty if the model has no repeat
  /// Layers of the blocks, such as "h.*.attn", that hold all nodes with heads and none with the hidden axis, and the reverse.
  std::vector<std::string> attentionLayers, feedForwardLayers;
  std::vector<std::string> operations, constants;
};

/// The flags that make a model with these constants small, each after a space; empty if it has none of the usual constants.
std::string shrinkingFlags(const std::vector<std::string> &constants);

/// Elaborates the model's text at a small size; what the options set keeps its value. Settings of plans are a usage error.
engine::Result<ModelOutline> outlineSmall(const models::ModelOptions &options, engine::Observer &observer);
/// The same at the model's own size.
engine::Result<ModelOutline> outlineModel(const models::ModelOptions &options, engine::Observer &observer);

} // namespace npar::verify
