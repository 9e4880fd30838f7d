// Diagnostics and the changes that make them go away, in the protocol's form.
#pragma once

#include "tools/npar/lsp/Json.h"
#include "tools/npar/lsp/State.h"

namespace npar::driver {

/// Paths of all texts that an analysis or the syntax of an open text complains about.
std::set<std::string> textsWithProblems(ServerState &state);

/// The parameters of `textDocument/publishDiagnostics` for a text.
json::Value problemsOf(ServerState &state, const std::string &path);

/// The answer to `textDocument/codeAction`.
json::Value codeActions(ServerState &state, const std::string &path, lsp::ByteRange range);

} // namespace npar::driver
