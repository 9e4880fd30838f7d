// The layout of a sample's elements in a rank's buffer of an input or a result: cut along dimensions, perhaps in zigzag order.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// Elements that are contiguous both in the logical sample and in the buffer. If `beyond`, they are past the end of the sample and exist
/// only in the buffer.
struct SampleRun {
  uint64_t first, count;
  bool beyond;
};

/// The runs of one sample in the order of the buffer. `parts`: the rank's part number along each dimension; the entry for samples is
/// ignored.
std::vector<SampleRun> runsOfSample(const flatbuffers::Vector<const program::PieceDimension *> &dimensions,
                                    const flatbuffers::Vector<uint32_t> &zigzag, const std::vector<int64_t> &parts);

} // namespace npar::engine
