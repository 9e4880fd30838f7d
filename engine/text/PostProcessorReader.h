// The "post_processor" of a tokenizer.json: the tokens that are put around every text.
#pragma once

#include "engine/json/Json.h"
#include "engine/text/Pipeline.h"

namespace npar::engine {

/// Sets `before` and `after`. Refuses other kinds and unknown fields by name.
Status readPostProcessor(const Json &component, PipelineParts &parts);

} // namespace npar::engine
