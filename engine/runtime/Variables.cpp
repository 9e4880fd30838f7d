// Logical variables against the pieces that the ranks keep: gathers and scatters, with padding and replicas.
#include "engine/runtime/Variables.h"

#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace npar::engine {

using namespace program;

int64_t Variables::Dimension::valid() const { return std::clamp<int64_t>(global - start, 0, local); }

Variables::Variables(const Program &program, const std::vector<LocalRank> &ranks, Backend &backend, GatherBytes gather)
    : program(program), backend(backend), gather(std::move(gather)) {
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
  for (const LocalRank &rank : ranks)
    for (const Piece *piece : *program.classes()->Get(classOf(program, rank.rank))->pieces()) {
      Placement placement = placementOf(program, rank.rank, *piece);
      placement.memory = rank.arena + piece->offset();
      entries[piece->variable()].placements.push_back(std::move(placement));
    }
}

/// Whether the rank's piece is the one that is read: the rank has coordinate 0 on every mesh axis that replicates the piece.
static bool owns(const Program &program, const std::vector<int64_t> &coordinates, const RankClass &rankClass, const Piece &piece) {
  auto splits = [&](uint32_t axis) {
    auto among = [&](const flatbuffers::Vector<uint32_t> &axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
    return among(*piece.mesh_axes()) || among(*piece.flat_axes());
  };
  for (uint32_t axis = 0; axis < program.mesh()->size(); ++axis)
    if (coordinates[axis] > 0 && fixedCoordinate(rankClass, axis) < 0 && !splits(axis))
      return false;
  return piece.owner();
}

Variables::Placement Variables::placementOf(const Program &program, int64_t rank, const Piece &piece) {
  std::vector<int64_t> coordinates = coordinatesOf(program, rank);
  Placement placement;
  placement.rank = rank;
  placement.bytes = piece.bytes();
  placement.elements = 1;
  for (const PieceDimension *dimension : *piece.dimensions()) {
    placement.dimensions.push_back(
        {dimension->global(), dimension->local(), memberAlong(program, coordinates, piece, *dimension) * dimension->local()});
    placement.elements *= static_cast<uint64_t>(dimension->local());
  }
  if (piece.flat_axes()->size() > 0) {
    uint64_t share = flatShare(placement.elements, ranksAlong(program, *piece.flat_axes()));
    placement.begin = static_cast<uint64_t>(memberAlong(program, coordinates, *piece.flat_axes())) * share;
    placement.end = placement.begin + share;
    placement.elements = share;
  }
  placement.owned = owns(program, coordinates, *program.classes()->Get(classOf(program, rank)), piece);
  return placement;
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

/// Calls with(value of the C++ type that holds elements of `type`).
template <typename With> static auto withType(ElementType type, With with) {
  switch (type) {
  case ElementType::F32:
    return with(float{});
  case ElementType::F64:
    return with(double{});
  case ElementType::BF16:
    return with(BFloat16{});
  case ElementType::F16:
    return with(Float16{});
  case ElementType::I32:
    return with(int32_t{});
  case ElementType::U8:
    return with(uint8_t{});
  }
  std::abort(); // a verified program has no other type
}

uint64_t Variables::validElements(const Placement &placement) {
  uint64_t valid = 0;
  forEachRun(placement, [&](uint64_t, uint64_t, uint64_t count) { valid += count; });
  return valid;
}

Status Variables::copyOut(const Placement &placement, std::vector<uint8_t> &bytes, ElementType type) const {
  bytes.resize(placement.elements * sizeOf(type));
  backend.copyOut(bytes.data(), placement.memory, bytes.size());
  return waitUntilDone(backend);
}

template <typename T>
uint64_t Variables::scatter(const Placement &placement, ElementType type, const uint8_t *piece, std::vector<T> &values) {
  uint64_t covered = 0;
  withType(type, [&](auto stored) {
    forEachRun(placement, [&](uint64_t logical, uint64_t local, uint64_t count) {
      convert<T, decltype(stored)>(&values[logical], piece + local * sizeof(stored), count);
      covered += count;
    });
  });
  return covered;
}

template <typename T> Status Variables::read(uint32_t variable, std::vector<T> &values) const {
  const Entry &entry = entries[variable];
  values.resize(entry.elements);
  uint64_t covered = 0;
  if (gather) {
    Result<uint64_t> all = scatterAll(variable, values);
    if (!all.ok())
      return all.status();
    covered = *all;
  } else {
    std::vector<uint8_t> piece;
    for (const Placement &placement : entry.placements)
      if (placement.owned) {
        if (Status status = copyOut(placement, piece, entry.type); !status.ok())
          return status;
        covered += scatter(placement, entry.type, piece.data(), values);
      }
  }
  if (covered != entry.elements)
    return Status(Code::Internal, "the ranks own " + std::to_string(covered) + " of the " + std::to_string(entry.elements) +
                                      " elements of variable '" + entry.name + "'");
  return {};
}

Result<std::vector<std::vector<uint8_t>>> Variables::gatherPieces(const Entry &entry) const {
  std::vector<uint8_t> own, piece;
  for (const Placement &placement : entry.placements)
    if (placement.owned) {
      if (Status status = copyOut(placement, piece, entry.type); !status.ok())
        return status;
      auto *rank = reinterpret_cast<const uint8_t *>(&placement.rank);
      own.insert(own.end(), rank, rank + sizeof(placement.rank));
      own.insert(own.end(), piece.begin(), piece.end());
    }
  return gather(own);
}

template <typename T> Result<uint64_t> Variables::scatterAll(uint32_t variable, std::vector<T> &values) const {
  const Entry &entry = entries[variable];
  Result<std::vector<std::vector<uint8_t>>> all = gatherPieces(entry);
  if (!all.ok())
    return all.status();
  uint64_t covered = 0;
  for (const std::vector<uint8_t> &bytes : *all)
    for (size_t at = 0; at < bytes.size();) {
      int64_t rank;
      std::memcpy(&rank, &bytes[at], sizeof(rank));
      at += sizeof(rank);
      for (const Piece *piece : *program.classes()->Get(classOf(program, rank))->pieces())
        if (piece->variable() == variable) {
          Placement placement = placementOf(program, rank, *piece);
          covered += scatter(placement, entry.type, &bytes[at], values);
          at += placement.elements * sizeOf(entry.type);
        }
    }
  return covered;
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

template <typename T> Status Variables::write(uint32_t variable, const T *values) {
  const Entry &entry = entries[variable];
  std::vector<uint8_t> piece;
  for (const Placement &placement : entry.placements) {
    piece.resize(placement.elements * sizeOf(entry.type));
    if (validElements(placement) < placement.elements) // padding stays as it is
      if (Status status = copyOut(placement, piece, entry.type); !status.ok())
        return status;
    withType(entry.type, [&](auto stored) {
      forEachRun(placement, [&](uint64_t logical, uint64_t local, uint64_t count) {
        convert<decltype(stored), T>(reinterpret_cast<decltype(stored) *>(piece.data()) + local, values + logical, count);
      });
    });
    backend.copyIn(placement.memory, piece.data(), piece.size());
    if (Status status = waitUntilDone(backend); !status.ok())
      return status;
  }
  return {};
}

void Variables::zero(uint32_t variable) {
  for (const Placement &placement : entries[variable].placements)
    backend.zero(placement.memory, placement.bytes);
}

template Status Variables::read(uint32_t, std::vector<float> &) const;
template Status Variables::read(uint32_t, std::vector<double> &) const;
template Status Variables::write(uint32_t, const float *);
template Status Variables::write(uint32_t, const double *);

} // namespace npar::engine
