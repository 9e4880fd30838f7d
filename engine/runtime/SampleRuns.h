// How the elements of a sample lie in a rank's buffer of an input or a result: cut along dimensions, perhaps in zigzag order.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// Elements in a row of a sample, both in the logical sample and in the buffer; in the buffer alone when they lie beyond the sample.
struct SampleRun {
  uint64_t first, count;
  bool beyond;
};

/// The runs of one sample in the order of the buffer. `parts`: which part of each dimension the rank has; that of the samples is not looked
/// at.
std::vector<SampleRun> runsOfSample(const flatbuffers::Vector<const program::PieceDimension *> &dimensions,
                                    const flatbuffers::Vector<uint32_t> &zigzag, const std::vector<int64_t> &parts);

} // namespace npar::engine
