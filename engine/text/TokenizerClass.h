// The class of a tokenizer that no file of its own names.
#pragma once

#include "engine/text/TokenizerConfig.h"

namespace npar::engine {

/// For folders without a tokenizer.json: if tokenizer_config.json names no class, takes that of config.json's model. Refuses other models.
Status findClass(const std::string &folder, TokenizerConfig &config);

} // namespace npar::engine
