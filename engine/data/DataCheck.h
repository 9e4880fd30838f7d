// Checks a token file against a program before training: every value, as a token and as a target.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/data/MaskFile.h"
#include "engine/data/TokenFile.h"

namespace npar::engine {

/// A file of tokens, its targets, and the inputs that take them.
struct TokenData {
  std::string path, maskPath;
  std::shared_ptr<TokenFile> tokens;
  std::shared_ptr<MaskFile> mask; ///< may be null: every token but the first is a target
  std::vector<DataFeed> feeds;

};

/// Some tokens of the file, each with a flag for targets that the mask keeps.
struct TokenWindow {
  int64_t first = 0;
  std::vector<int32_t> tokens;
  std::vector<uint8_t> masked; ///< empty: there is no mask

  /// Reads tokens [from, to). Returns an error with the file's name if they no longer exist.
  Status read(const TokenData &data, int64_t from, int64_t to);
  int32_t at(int64_t index) const { return tokens[static_cast<size_t>(index - first)]; }
  bool isTarget(int64_t index) const { return index > 0 && (masked.empty() || masked[static_cast<size_t>(index - first)] != 0); }
};

/// Refuses, with file, sample, position and value, a token or a target without a class in the program (targets that the mask leaves out or
/// that the program ignores are exempt), and a target that counts by the mask but has the value that the program ignores.
Status checkTokenValues(const TokenData &data, const BatchShape &shape);

/// Refuses data if none of the first `tokens` tokens is a target that counts. Returns remarks on legal but surprising data.
Result<std::vector<std::string>> checkTargets(const TokenData &data, const BatchShape &shape, int64_t tokens);

} // namespace npar::engine
