// The data that `npar eval` reads: a token file, files in place of the data block's, or a part of the data block.
#pragma once

#include "engine/data/OncePass.h"
#include "tools/lib/trained/NamedModel.h"
#include "tools/npar/eval/EvalFlags.h"

#include <memory>

namespace npar::driver {

/// The kind of tokens in a file if --tokens is not given: by the file's extension, by the data that the checkpoint was trained on, or
/// "bytes" for a model with 256 tokens. Empty: unknown.
std::string guessTokens(const EvalFlags &flags, const trained::NamedModel &named, const program::Program &program);

/// Names of the classes that the model was trained on, as its checkpoint or its config.json states them; empty: they have none.
std::vector<std::string> namesOfClasses(const trained::NamedModel &named);

/// Opens the data. Before, --tokens must be known if there is a token file.
engine::Result<std::unique_ptr<engine::OncePass>> openData(const EvalFlags &flags, const trained::NamedModel &named,
                                                           const program::Program &program);

/// Counts the samples of the data. Sets --tokens if a token file is given without it.
engine::Result<int64_t> countData(EvalFlags &flags, const trained::NamedModel &named, const program::Program &program);

} // namespace npar::driver
