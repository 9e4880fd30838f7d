// Cuts a sample's dimensions, from the innermost outwards, into runs of elements.
#include "engine/runtime/SampleRuns.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

namespace {

/// Indices in a row of one dimension; beyond its end where the buffer holds zeros.
struct Range {
  uint64_t first, count;
  bool beyond;
};

/// Ranges of a dimension that part `part` holds, in the order of the buffer. In zigzag order they are chunks and pieces of chunks.
std::vector<Range> rangesOf(const PieceDimension &dimension, uint64_t zigzag, uint64_t part) {
  uint64_t size = static_cast<uint64_t>(dimension.global()), local = static_cast<uint64_t>(dimension.local());
  uint64_t begin = std::min(part * local, size), end = std::min(begin + local, size);
  uint64_t chunks = 2 * zigzag, chunkSize = chunks ? size / chunks : size;
  std::vector<Range> ranges;
  for (uint64_t place = begin; place < end;) {
    uint64_t slot = place / chunkSize, within = place % chunkSize, count = std::min(end - place, chunkSize - within);
    uint64_t chunk = slot % 2 ? chunks - 1 - slot / 2 : slot / 2, first = chunk * chunkSize + within;
    if (!ranges.empty() && ranges.back().first + ranges.back().count == first)
      ranges.back().count += count;
    else
      ranges.push_back({first, count, false});
    place += count;
  }
  if (end - begin < local)
    ranges.push_back({size, local - (end - begin), true});
  return ranges;
}

} // namespace

std::vector<SampleRun> runsOfSample(const flatbuffers::Vector<const PieceDimension *> &dimensions,
                                    const flatbuffers::Vector<uint32_t> &zigzag, const std::vector<int64_t> &parts) {
  // Goes from the innermost dimension outwards: the runs of one index of a dimension are the runs of the inner dimensions, shifted.
  std::vector<SampleRun> inner = {{0, 1, false}};
  uint64_t stride = 1, elements = 1; // of the dimensions so far: in the sample, in the buffer
  for (uint32_t i = dimensions.size(); i-- > 1;) {
    const PieceDimension &dimension = *dimensions.Get(i);
    std::vector<SampleRun> outer;
    auto add = [&](SampleRun run) {
      bool joins =
          !outer.empty() && outer.back().beyond == run.beyond && (run.beyond || outer.back().first + outer.back().count == run.first);
      if (joins)
        outer.back().count += run.count;
      else
        outer.push_back(run);
    };
    for (const Range &range : rangesOf(dimension, zigzag.Get(i), static_cast<uint64_t>(parts[i])))
      if (range.beyond)
        add({0, range.count * elements, true});
      else if (inner.size() == 1 && inner[0].count == stride) // all of the inner dimensions, so neighbours join
        add({range.first * stride, range.count * stride, false});
      else
        for (uint64_t index = range.first; index < range.first + range.count; ++index)
          for (const SampleRun &run : inner)
            add({index * stride + run.first, run.count, run.beyond});
    inner = std::move(outer);
    stride *= static_cast<uint64_t>(dimension.global()), elements *= static_cast<uint64_t>(dimension.local());
  }
  return inner;
}

} // namespace npar::engine
