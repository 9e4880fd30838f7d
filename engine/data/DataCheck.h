// Whether a token file fits a program: every value, as a token and as a target, before anything is trained.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/data/MaskFile.h"
#include "engine/data/TokenFile.h"

namespace npar::engine {

/// A file of tokens, which of them are targets, and which inputs take them.
struct TokenData {
  std::string path, maskPath;
  std::shared_ptr<TokenFile> tokens;
  std::shared_ptr<MaskFile> mask; ///< may be null: every token but the first is a target
  std::vector<DataFeed> feeds;

  /// Whether token `index` is a target that the mask keeps.
  bool isTarget(int64_t index) const { return index > 0 && (!mask || mask->isTarget(index)); }
};

/// Refuses, with file, sample, position and value, a token or a target without a class in the program (targets that the mask leaves out or
/// that the program ignores are exempt), and a target that counts by the mask but has the value that the program ignores.
Status checkTokenValues(const TokenData &data, const BatchShape &shape);

/// Refuses data of whose first `tokens` tokens none is a target that counts. Returns remarks on what is legal but worth knowing.
Result<std::vector<std::string>> checkTargets(const TokenData &data, const BatchShape &shape, int64_t tokens);

} // namespace npar::engine
