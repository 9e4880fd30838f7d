// Folders without a tokenizer.json: `vocab.json` with `merges.txt`, and `vocab.txt`, whose meaning `tokenizer_config.json` tells.
#pragma once

#include "engine/text/Pipeline.h"

namespace npar::engine {

/// The tokenizers of GPT-2 (also if no class is named), RoBERTa, BART and Qwen 2. Refuses other classes by name.
Result<PipelineParts> partsOfVocabularyAndMerges(const std::string &folder);

/// BERT's WordPiece: a token in each line. Refuses classes of other families by name.
Result<PipelineParts> partsOfWordPieceVocabulary(const std::string &folder);

} // namespace npar::engine
