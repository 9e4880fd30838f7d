// The shared part of the checks of inputs and of results. Both are logical values of a batch, and each class keeps a part of them in a
// buffer with a slot per micro-batch.
#pragma once

#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"
#include "engine/program/SizeCheck.h"

#include <algorithm>
#include <set>
#include <string>

namespace npar::program {

/// True if the sizes are positive and their product is small enough to count bytes.
template <typename Sizes> bool isPossible(const Sizes &sizes) {
  constexpr uint64_t largest = uint64_t(1) << 59;
  Wide elements = 1;
  for (int64_t size : sizes)
    if (size <= 0 || (elements *= static_cast<uint64_t>(size)) > largest)
      return false;
  return true;
}

/// The shape of logical values: over the batch, possible, a name for each dimension.
template <typename Logical> std::string checkShape(const Program &program, const Logical &logical, const std::string &name) {
  if (logical.axes()->size() == 0 || logical.axes()->size() != logical.shape()->size() || !isPossible(*logical.shape()))
    return name + " has an impossible shape";
  if (logical.axes()->Get(0)->str() != "batch" || logical.shape()->Get(0) != program.batch())
    return name + " does not begin with the batch of " + std::to_string(program.batch()) + " samples";
  return "";
}

/// The mesh axes of a buffer are in range, and none is named twice.
template <typename Buffer> std::string checkAxes(const Program &program, const Buffer &buffer, const std::string &which) {
  std::set<uint32_t> seen;
  for (uint32_t axis : *buffer.mesh_axes()) {
    if (axis >= program.mesh()->size())
      return which + " names mesh axis " + number(axis) + " of " + number(program.mesh()->size());
    if (!seen.insert(axis).second)
      return which + " names mesh axis '" + program.mesh()->Get(axis)->name()->str() + "' twice";
  }
  return "";
}

/// `size` is the size of the dimension in one micro-batch.
template <typename Buffer>
std::string checkDimension(const Program &program, const Buffer &buffer, uint32_t index, int64_t size, const std::string &which) {
  const PieceDimension &dimension = *buffer.dimensions()->Get(index);
  std::string what = which + ": dimension " + number(index);
  uint64_t axes = buffer.mesh_axes()->size();
  if (dimension.first_axis() > axes || dimension.axis_count() > axes - dimension.first_axis())
    return what + " has mesh axes out of range";
  Wide parts = 1;
  for (uint32_t i = 0; i < dimension.axis_count(); ++i)
    parts *= program.mesh()->Get(buffer.mesh_axes()->Get(dimension.first_axis() + i))->size();
  if (dimension.global() != size || dimension.local() <= 0 ||
      parts * static_cast<uint64_t>(dimension.local()) < static_cast<uint64_t>(size))
    return what + " of size " + std::to_string(dimension.global()) + " kept as " + std::to_string(dimension.local()) + " on each of " +
           number(static_cast<uint64_t>(parts)) + " ranks does not cover the program's " + std::to_string(size);
  uint64_t chunks = 2 * uint64_t(buffer.zigzag()->Get(index));
  if (chunks && (index == 0 || static_cast<uint64_t>(size) % chunks != 0))
    return what + " of size " + std::to_string(size) + " is in zigzag order of " + number(chunks) + " chunks, which do not divide it";
  return "";
}

/// Checks a class's buffer for values of `shape`: it covers every dimension, keeps a data-parallel rank's samples of a micro-batch
/// (RULES.md#P10), and its region has a slot per micro-batch.
template <typename Buffer>
std::string checkPlace(const Program &program, const RankClass &rankClass, const Buffer &buffer, const flatbuffers::Vector<int64_t> &shape,
                       ElementType type, const std::string &which) {
  if (std::string wrong = checkAxes(program, buffer, which); !wrong.empty())
    return wrong;
  if (buffer.dimensions()->size() != shape.size() || buffer.zigzag()->size() != shape.size())
    return which + " has " + number(buffer.dimensions()->size()) + " dimensions, the program's " + number(shape.size());
  std::vector<int64_t> local;
  for (uint32_t i = 0; i < buffer.dimensions()->size(); ++i) {
    int64_t size = i == 0 ? shape.Get(0) / program.micro_count() : shape.Get(i);
    if (std::string wrong = checkDimension(program, buffer, i, size, which); !wrong.empty())
      return wrong;
    local.push_back(buffer.dimensions()->Get(i)->local());
  }
  const PieceDimension &samples = *buffer.dimensions()->Get(0);
  bool shared = samples.axis_count() == program.data_axes()->size();
  for (uint32_t i = 0; shared && i < samples.axis_count(); ++i)
    shared = buffer.mesh_axes()->Get(samples.first_axis() + i) == program.data_axes()->Get(i);
  if (!shared || samples.local() != program.micro())
    return which + " keeps " + std::to_string(samples.local()) + " samples of a micro-batch, not the " + std::to_string(program.micro()) +
           " of a data-parallel rank";
  if (buffer.region() >= rankClass.regions()->size() || !isPossible(local))
    return which + " does not fit its region";
  const Region &region = *rankClass.regions()->Get(buffer.region());
  uint64_t bytes = elementsOf(buffer) * sizeOf(type);
  if (buffer.offset() > region.bytes() || bytes > region.bytes() - buffer.offset())
    return which + " of " + number(bytes) + " bytes does not fit its region";
  if (region.slots() != program.micro_count())
    return which + " is in a region of " + number(region.slots()) + " slots, not one for each of " + std::to_string(program.micro_count()) +
           " micro-batches";
  return "";
}

} // namespace npar::program
