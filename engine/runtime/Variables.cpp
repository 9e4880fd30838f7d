// Logical variables against the pieces that the ranks keep: gathers and scatters, with padding and replicas.
#include "engine/runtime/Variables.h"

#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace npar::engine {

using namespace program;

int64_t Variables::Dimension::valid() const { return std::clamp<int64_t>(global - start, 0, local); }

Variables::Variables(const Program &program, const std::vector<uint8_t *> &arenas) {
  for (const Variable *variable : *program.variables()) {
    Entry entry;
    entry.name = variable->name()->str();
    entry.type = variable->type();
    entry.elements = 1;
    for (int64_t size : *variable->shape())
      entry.elements *= static_cast<uint64_t>(size);
    names[entry.name] = static_cast<uint32_t>(entries.size());
    entries.push_back(std::move(entry));
  }
  std::vector<std::vector<bool>> owners(entries.size());
  for (size_t rank = 0; rank < arenas.size(); ++rank) {
    std::vector<int64_t> coordinates = coordinatesOf(program, static_cast<int64_t>(rank));
    for (const Piece *piece : *program.classes()->Get(classOf(program, static_cast<int64_t>(rank)))->pieces()) {
      Placement placement;
      placement.rank = static_cast<int64_t>(rank);
      placement.memory = arenas[rank] + piece->offset();
      placement.bytes = piece->bytes();
      for (const PieceDimension *dimension : *piece->dimensions())
        placement.dimensions.push_back(
            {dimension->global(), dimension->local(), memberAlong(program, coordinates, *piece, *dimension) * dimension->local()});
      if (piece->flat_axes()->size() > 0) {
        uint64_t elements = 1;
        for (const Dimension &dimension : placement.dimensions)
          elements *= static_cast<uint64_t>(dimension.local);
        uint64_t share = flatShare(elements, ranksAlong(program, *piece->flat_axes()));
        placement.begin = static_cast<uint64_t>(memberAlong(program, coordinates, *piece->flat_axes())) * share;
        placement.end = placement.begin + share;
      }
      entries[piece->variable()].placements.push_back(std::move(placement));
      owners[piece->variable()].push_back(piece->owner());
    }
  }
  // Sources: owners first, in rank order; a piece that starts where a source starts is its replica.
  for (size_t variable = 0; variable < entries.size(); ++variable) {
    Entry &entry = entries[variable];
    std::set<std::pair<std::vector<int64_t>, uint64_t>> taken;
    for (bool owner : {true, false})
      for (size_t i = 0; i < entry.placements.size(); ++i) {
        Placement &placement = entry.placements[i];
        std::vector<int64_t> start;
        for (const Dimension &dimension : placement.dimensions)
          start.push_back(dimension.start);
        if (owners[variable][i] != owner || !taken.emplace(start, placement.begin).second)
          continue;
        placement.source = true;
        forEachRun(placement, [&](uint64_t, uint64_t, uint64_t count) { entry.covered += count; });
      }
  }
}

Result<uint32_t> Variables::find(const std::string &name) const {
  auto found = names.find(name);
  if (found == names.end())
    return Status::badInput("the program has no variable '" + name + "'");
  return found->second;
}

template <typename Run> void Variables::forEachRun(const Placement &placement, Run run) {
  forEachRowMajorRun(placement.dimensions, [&](uint64_t logical, uint64_t local, uint64_t count) {
    uint64_t first = std::max(local, placement.begin), last = std::min(local + count, placement.end);
    if (first < last)
      run(logical + (first - local), first - placement.begin, last - first);
  });
}

template <typename Run> void Variables::forEachRowMajorRun(const std::vector<Dimension> &dimensions, Run run) {
  for (const Dimension &dimension : dimensions)
    if (dimension.valid() == 0)
      return;
  // Whole trailing dimensions and the one before them make one contiguous run.
  size_t outer = dimensions.size();
  uint64_t whole = 1;
  while (outer > 0 && dimensions[outer - 1].local == dimensions[outer - 1].global)
    whole *= static_cast<uint64_t>(dimensions[--outer].global);
  uint64_t length = whole;
  if (outer > 0)
    length *= static_cast<uint64_t>(dimensions[--outer].valid());
  uint64_t logicalBase = 0, stride = 1;
  std::vector<uint64_t> logicalStride(dimensions.size()), localStride(dimensions.size());
  uint64_t localRun = 1;
  for (size_t d = dimensions.size(); d-- > 0;) {
    logicalStride[d] = stride, localStride[d] = localRun;
    logicalBase += static_cast<uint64_t>(dimensions[d].start) * stride;
    stride *= static_cast<uint64_t>(dimensions[d].global), localRun *= static_cast<uint64_t>(dimensions[d].local);
  }
  std::vector<int64_t> index(outer, 0);
  while (true) {
    uint64_t logical = logicalBase, local = 0;
    for (size_t d = 0; d < outer; ++d)
      logical += index[d] * logicalStride[d], local += index[d] * localStride[d];
    run(logical, local, length);
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == dimensions[d - 1].valid())
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

namespace {
template <typename To, typename From> void convert(To *to, const void *from, uint64_t count) {
  if constexpr (std::is_same_v<To, From>) {
    std::memcpy(to, from, count * sizeof(To));
    return;
  }
  const From *source = static_cast<const From *>(from);
  constexpr bool narrow = sizeof(From) == 2 || sizeof(To) == 2; // 16-bit floats know float only
  for (uint64_t i = 0; i < count; ++i)
    if constexpr (narrow)
      to[i] = static_cast<To>(static_cast<float>(source[i]));
    else
      to[i] = static_cast<To>(source[i]);
}
} // namespace

template <typename T> Status Variables::read(uint32_t variable, std::vector<T> &values) const {
  const Entry &entry = entries[variable];
  if (entry.covered != entry.elements)
    return Status(Code::Internal, "the ranks keep " + std::to_string(entry.covered) + " of the " + std::to_string(entry.elements) +
                                      " elements of variable '" + entry.name + "'");
  values.resize(entry.elements);
  for (const Placement &placement : entry.placements)
    if (placement.source)
      forEachRun(placement, [&](uint64_t logical, uint64_t local, uint64_t count) {
        const uint8_t *from = placement.memory + local * sizeOf(entry.type);
        switch (entry.type) {
        case ElementType::F32:
          return convert<T, float>(&values[logical], from, count);
        case ElementType::F64:
          return convert<T, double>(&values[logical], from, count);
        case ElementType::BF16:
          return convert<T, BFloat16>(&values[logical], from, count);
        case ElementType::F16:
          return convert<T, Float16>(&values[logical], from, count);
        case ElementType::I32:
          return convert<T, int32_t>(&values[logical], from, count);
        case ElementType::U8:
          return convert<T, uint8_t>(&values[logical], from, count);
        }
      });
  return {};
}

Status Variables::readBytes(uint32_t variable, std::vector<uint8_t> &bytes) const {
  const Entry &entry = entries[variable];
  auto take = [&](auto type) -> Status {
    std::vector<decltype(type)> values;
    Status status = read(variable, values);
    bytes.resize(values.size() * sizeof(type));
    if (!bytes.empty())
      std::memcpy(bytes.data(), values.data(), bytes.size());
    return status;
  };
  switch (entry.type) {
  case ElementType::F64:
    return take(double{});
  case ElementType::F32:
  case ElementType::BF16:
  case ElementType::F16:
    return take(float{});
  case ElementType::I32:
  case ElementType::U8:
    break;
  }
  return take(int32_t{});
}

template <typename T> void Variables::write(uint32_t variable, const T *values) {
  Entry &entry = entries[variable];
  for (Placement &placement : entry.placements)
    forEachRun(placement, [&](uint64_t logical, uint64_t local, uint64_t count) {
      uint8_t *to = placement.memory + local * sizeOf(entry.type);
      switch (entry.type) {
      case ElementType::F32:
        return convert<float, T>(reinterpret_cast<float *>(to), values + logical, count);
      case ElementType::F64:
        return convert<double, T>(reinterpret_cast<double *>(to), values + logical, count);
      case ElementType::BF16:
        return convert<BFloat16, T>(reinterpret_cast<BFloat16 *>(to), values + logical, count);
      case ElementType::F16:
        return convert<Float16, T>(reinterpret_cast<Float16 *>(to), values + logical, count);
      case ElementType::I32:
        return convert<int32_t, T>(reinterpret_cast<int32_t *>(to), values + logical, count);
      case ElementType::U8:
        return convert<uint8_t, T>(to, values + logical, count);
      }
    });
}

void Variables::zero(uint32_t variable) {
  for (Placement &placement : entries[variable].placements)
    std::memset(placement.memory, 0, placement.bytes);
}

template Status Variables::read(uint32_t, std::vector<float> &) const;
template Status Variables::read(uint32_t, std::vector<double> &) const;
template void Variables::write(uint32_t, const float *);
template void Variables::write(uint32_t, const double *);

} // namespace npar::engine
