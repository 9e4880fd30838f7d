// Blocks of scores, band by band.
#include "engine/backends/cuda/program/ScoreBlocks.h"

#include <algorithm>

namespace npar::engine::cuda {

namespace {

using program::SequenceRun;

/// The pieces of some runs, none longer than `size`.
std::vector<SequenceRun> pieces(const std::vector<SequenceRun> &runs, int64_t size) {
  std::vector<SequenceRun> all;
  for (const SequenceRun &run : runs)
    for (int64_t begin = 0; begin < run.count; begin += size)
      all.push_back({run.at + begin, std::min(size, run.count - begin), run.position + begin});
  return all;
}

bool meet(const SequenceRun &queries, const SequenceRun &keys, const ScoreSight &sight) {
  if (sight.placed)
    return true;
  int64_t first = queries.position, last = first + queries.count - 1, lastKey = keys.position + keys.count - 1;
  return !(sight.causal && keys.position > last) && lastKey >= first - sight.back && keys.position <= last + sight.ahead;
}

} // namespace

ScoreBlocks scoreBlocks(const std::vector<SequenceRun> &queries, const std::vector<SequenceRun> &keys, const ScoreSight &sight, bool ofKeys,
                        bool byQueries, int64_t most) {
  auto number = [](int64_t value) { return static_cast<int32_t>(value); };
  std::vector<SequenceRun> ofQueries = pieces(queries, ofKeys ? program::mostScoreColumns : program::scoreRows);
  std::vector<SequenceRun> keyPieces = pieces(keys, ofKeys ? program::scoreRows : program::mostScoreColumns);
  const std::vector<SequenceRun> &outer = byQueries ? ofQueries : keyPieces, &inner = byQueries ? keyPieces : ofQueries;
  ScoreBlocks all;
  for (const SequenceRun &own : outer) {
    auto before = static_cast<int64_t>(all.blocks.size());
    for (const SequenceRun &other : inner) {
      const SequenceRun &query = byQueries ? own : other, &key = byQueries ? other : own;
      if (!meet(query, key, sight))
        continue;
      const SequenceRun &row = ofKeys ? key : query, &column = ofKeys ? query : key;
      all.blocks.push_back(
          {number(row.at), number(row.count), number(row.position), number(column.at), number(column.count), number(column.position), {}});
    }
    int64_t count = static_cast<int64_t>(all.blocks.size()) - before;
    if (all.parts.empty() || all.parts.back().blocks + count > most)
      all.parts.push_back({static_cast<int64_t>(all.bands.size()), 0, before, 0});
    ScorePart &part = all.parts.back();
    all.bands.push_back({number(part.blocks), number(count), number(own.at), number(own.count), number(own.position), {}});
    ++part.bands, part.blocks += count;
  }
  return all;
}

} // namespace npar::engine::cuda
