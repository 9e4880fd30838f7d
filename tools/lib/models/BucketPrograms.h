// The programs of one plan with buckets of several sizes, for `npar train --tune buckets` to try.
#pragma once

#include "engine/training/Tuning.h"
#include "tools/lib/models/Compilation.h"

#include <string>
#include <vector>

namespace npar::models {

/// A size of buckets in a plan's words: "bucket 8 MiB", "no bucket" for 0.
std::string bucketText(int64_t bytes);
/// The same as a setting: "bucket=8MiB", "bucket=none".
std::string bucketSetting(int64_t bytes);

struct BucketProgram {
  int64_t bytes = 0; ///< of a bucket; 0: each gradient is reduced alone
  ProgramPointer program;
};

/// `own`, the plan's program, and one for each other way of grouping: each gradient alone, and buckets that hold 1/64, 1/16, 1/4 and all of
/// the largest rank's gradients, rounded up to a power of two. Sizes that give the same program are tried once; a size that the compiler
/// refuses is left out, and the observer hears why.
engine::Result<std::vector<BucketProgram>> compileBuckets(const ModelOptions &options, const ProgramPointer &own,
                                                          engine::Observer &observer);

} // namespace npar::models
