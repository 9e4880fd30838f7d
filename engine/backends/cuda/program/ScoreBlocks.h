// The blocks of scores of an attention whose scores a program changes, and the parts in which they are processed.
#pragma once

#include "engine/backends/cuda/ptx/AttentionText.h"
#include "engine/program/Attentions.h"

#include <vector>

namespace npar::engine::cuda {

/// Some bands and all of their blocks, which are neighbours in memory.
struct ScorePart {
  int64_t firstBand, bands, firstBlock, blocks;
};

struct ScoreBlocks {
  std::vector<ScoreBand> bands; ///< `first` counts from the beginning of the part
  std::vector<ScoreBlock> blocks;
  std::vector<ScorePart> parts;
};

/// Which keys a query cannot see, as described in Program.fbs, table Attention. `placed`: the positions of queries are not known yet.
struct ScoreSight {
  bool causal, placed;
  int64_t back, ahead;
};

/// Blocks of 32 rows by up to 256 columns, without those of which no query sees a key. Forward rows are queries. Of a gradient (`ofKeys`)
/// they are keys, and bands have columns (`byQueries`) or rows. A part has `most` blocks at most, or one band.
ScoreBlocks scoreBlocks(const std::vector<program::SequenceRun> &queries, const std::vector<program::SequenceRun> &keys,
                        const ScoreSight &sight, bool ofKeys, bool byQueries, int64_t most);

} // namespace npar::engine::cuda
