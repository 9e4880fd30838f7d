// Whether a token file fits a program: every value, as a token and as a target, before anything is trained.
#pragma once

#include "engine/data/MaskFile.h"
#include "engine/data/TokenFile.h"
#include "engine/runtime/BatchShape.h"

namespace npar::engine {

/// A file of tokens, and which of them are targets.
struct TokenData {
  std::string path, maskPath;
  std::shared_ptr<TokenFile> tokens;
  std::shared_ptr<MaskFile> mask; ///< may be null: every token but the first is a target

  /// Whether token `index` is a target that the mask keeps.
  bool isTarget(int64_t index) const { return index > 0 && (!mask || mask->isTarget(index)); }
};

/// Checks the data of a program that a stream of tokens feeds. Refuses, with file, sample, position and value, a token or a target without
/// a class in the program (targets that the mask leaves out or that the program ignores are exempt); a target that counts by the mask but
/// has the value that the program ignores; data with fewer samples than a batch; and data without any target that counts. Returns remarks
/// on what is legal but worth knowing.
Result<std::vector<std::string>> checkData(const TokenData &data, const BatchShape &shape);

/// The part of checkData that looks at values alone, however few samples there are.
Status checkTokenValues(const TokenData &data, const BatchShape &shape);

} // namespace npar::engine
