// The answers to an editor's requests about a place of a text, one function each. They throw InvalidMessage.
#pragma once

#include "tools/npar/lsp/Json.h"
#include "tools/npar/lsp/State.h"

namespace npar::driver {

json::Value answerHover(ServerState &state, const json::Value &parameters);
json::Value answerDefinition(ServerState &state, const json::Value &parameters);
json::Value answerReferences(ServerState &state, const json::Value &parameters);
json::Value answerHighlight(ServerState &state, const json::Value &parameters);
json::Value answerSymbols(ServerState &state, const json::Value &parameters);
json::Value answerCompletion(ServerState &state, const json::Value &parameters);
json::Value answerHints(ServerState &state, const json::Value &parameters);
json::Value answerFormatting(ServerState &state, const json::Value &parameters);
json::Value answerCodeAction(ServerState &state, const json::Value &parameters);

} // namespace npar::driver
