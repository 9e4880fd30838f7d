// SentencePiece's own normalizer: a table of replacements, then spaces.
#pragma once

#include "engine/text/AddedTokens.h"
#include "engine/text/CharsMap.h"
#include "engine/text/SentencePieceModel.h"

namespace npar::engine {

/// `whole`: texts of user-defined pieces, which stay as they are.
std::shared_ptr<const Normalizer> sentencePieceNormalizer(const SentencePieceModel &model, std::shared_ptr<const CharsMap> map,
                                                          TokenTrie whole);

} // namespace npar::engine
