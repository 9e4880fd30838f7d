// The "model" of a tokenizer.json.
#pragma once

#include "engine/text/JsonFile.h"
#include "engine/text/Pipeline.h"

namespace npar::engine {

/// Sets `vocabulary`, `model` and `kind`. `bytes`: words are bytes (Cuts). Refuses other kinds and unknown fields by name. `json` loses its
/// vocabulary and merges.
Status readModel(TokenizerJson &json, bool bytes, PipelineParts &parts);

} // namespace npar::engine
