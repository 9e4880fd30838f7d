// Logical variables against the pieces that the ranks keep: gathers and scatters, with padding and replicas.
#include "engine/runtime/Variables.h"

#include "engine/numbers/Convert.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/OwnedPieces.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

using namespace program;

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
      placement.memory = rank.at(piece->offset());
      entries[piece->variable()].placements.push_back(std::move(placement));
    }
}

Variables::Placement Variables::placementOf(const Program &program, int64_t rank, const Piece &piece) {
  std::vector<int64_t> coordinates = coordinatesOf(program, rank);
  Placement placement;
  placement.rank = rank;
  placement.bytes = piece.bytes();
  placement.elements = 1;
  std::vector<KeptDimension> dimensions;
  uint64_t begin = 0, end = UINT64_MAX; // of the share
  for (const PieceDimension *dimension : *piece.dimensions()) {
    dimensions.push_back(
        {dimension->global(), dimension->local(), memberAlong(program, coordinates, piece, *dimension) * dimension->local()});
    placement.elements *= static_cast<uint64_t>(dimension->local());
  }
  if (piece.flat_axes()->size() > 0) {
    uint64_t share = flatShare(placement.elements, ranksAlong(program, *piece.flat_axes()));
    begin = static_cast<uint64_t>(memberAlong(program, coordinates, *piece.flat_axes())) * share;
    end = begin + share;
    placement.elements = share;
  }
  placement.runs = PieceRuns(dimensions, begin, end);
  placement.flat = piece.flat_axes()->size() > 0;
  placement.dimensions = std::move(dimensions);
  placement.owned = ownsPiece(program, coordinates, *program.classes()->Get(classOf(program, rank)), piece);
  return placement;
}

Result<uint32_t> Variables::find(const std::string &name) const {
  auto found = names.find(name);
  if (found == names.end())
    return Status::badInput("the program has no variable '" + name + "'");
  return found->second;
}

Result<std::vector<HostPiece>> Variables::hostPieces(uint32_t variable) const {
  const Entry &entry = entries[variable];
  std::vector<HostPiece> pieces;
  for (const Placement &placement : entry.placements) {
    if (placement.runs.elements() == 0) // only padding
      continue;
    const auto *memory = static_cast<const uint8_t *>(backend.hostView(placement.memory));
    if (!memory)
      return Status::badInput("'" + entry.name + "' is in the memory of backend '" + backend.name() +
                              "', which the processor cannot read: copy it");
    HostPiece piece;
    piece.rank = placement.rank, piece.owned = placement.owned, piece.type = entry.type;
    if (!placement.flat) {
      piece.data = memory;
      piece.strides.resize(placement.dimensions.size());
      int64_t stride = 1;
      for (size_t d = placement.dimensions.size(); d-- > 0; stride *= placement.dimensions[d].local)
        piece.strides[d] = stride;
      for (const KeptDimension &dimension : placement.dimensions) {
        piece.start.push_back(dimension.start);
        piece.shape.push_back(dimension.valid());
      }
      pieces.push_back(std::move(piece));
      continue;
    }
    piece.flat = true, piece.strides = {1};
    for (uint64_t i = 0; i < placement.runs.size(); ++i) {
      ElementRun run = placement.runs.at(i);
      piece.data = memory + run.local * sizeOf(entry.type);
      piece.first = static_cast<int64_t>(run.logical);
      piece.shape = {static_cast<int64_t>(run.count)};
      pieces.push_back(piece);
    }
  }
  return pieces;
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
    for (uint64_t i = 0; i < placement.runs.size(); ++i) {
      ElementRun run = placement.runs.at(i);
      convert<T, decltype(stored)>(&values[run.logical], piece + run.local * sizeof(stored), run.count);
      covered += run.count;
    }
  });
  return covered;
}

static Status notAllOwned(const std::string &name, uint64_t covered, uint64_t elements) {
  return Status(Code::Internal, "the ranks own " + std::to_string(covered) + " of the " + std::to_string(elements) +
                                    " elements of variable '" + name + "'");
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
    return notAllOwned(entry.name, covered, entry.elements);
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

template <typename T>
Result<uint64_t> Variables::readBlock(const Entry &entry, uint64_t begin, uint64_t end, std::vector<T> &values,
                                      std::vector<uint8_t> &piece) const {
  uint64_t covered = 0, size = sizeOf(entry.type);
  for (const Placement &placement : entry.placements) {
    if (!placement.owned)
      continue;
    // All copies first, then one wait: `piece` holds the runs as they are, each at its place in the block.
    auto forEachRun = [&](auto visit) {
      for (uint64_t i = placement.runs.from(begin); i < placement.runs.size(); ++i) {
        ElementRun run = placement.runs.at(i);
        if (run.logical >= end)
          break;
        uint64_t first = std::max(begin, run.logical), last = std::min(end, run.logical + run.count);
        visit(first - begin, run.local + first - run.logical, last - first);
      }
    };
    piece.resize((end - begin) * size);
    forEachRun([&](uint64_t place, uint64_t local, uint64_t count) {
      backend.copyOut(piece.data() + place * size, placement.memory + local * size, count * size);
    });
    if (Status status = waitUntilDone(backend); !status.ok())
      return status;
    withType(entry.type, [&](auto stored) {
      forEachRun([&](uint64_t place, uint64_t, uint64_t count) {
        convert<T, decltype(stored)>(&values[place], piece.data() + place * sizeof(stored), count);
        covered += count;
      });
    });
  }
  return covered;
}

template <typename T> Status Variables::visit(uint32_t variable, const std::function<void(const T *values, size_t count)> &take) const {
  constexpr uint64_t block = 1 << 18; // elements
  const Entry &entry = entries[variable];
  std::vector<T> values;
  if (gather) {
    Status status = read(variable, values);
    if (status.ok())
      take(values.data(), values.size());
    return status;
  }
  values.resize(std::min(block, entry.elements));
  std::vector<uint8_t> piece;
  for (uint64_t begin = 0; begin < entry.elements; begin += block) {
    uint64_t end = std::min(begin + block, entry.elements);
    Result<uint64_t> covered = readBlock(entry, begin, end, values, piece);
    if (!covered.ok())
      return covered.status();
    if (*covered != end - begin)
      return notAllOwned(entry.name, *covered, end - begin);
    take(values.data(), end - begin);
  }
  return {};
}

Status Variables::visitBytes(uint32_t variable, const std::function<void(const uint8_t *bytes, size_t count)> &take) const {
  return withWidened(entries[variable].type, [&](auto element) {
    return visit<decltype(element)>(variable, [&](const decltype(element) *values, size_t count) {
      take(reinterpret_cast<const uint8_t *>(values), count * sizeof(element));
    });
  });
}

Result<const Variables::Placement *> Variables::placementAt(uint32_t variable, int64_t rank) const {
  const Entry &entry = entries[variable];
  auto placement = std::find_if(entry.placements.begin(), entry.placements.end(), [&](const Placement &each) { return each.rank == rank; });
  if (placement == entry.placements.end())
    return Status(Code::Internal, "rank " + std::to_string(rank) + " keeps nothing of variable '" + entry.name + "' in this session");
  return &*placement;
}

Status Variables::visitPiece(uint32_t variable, int64_t rank, const std::function<void(const uint8_t *bytes, size_t count)> &take) const {
  Result<const Placement *> placement = placementAt(variable, rank);
  if (!placement.ok())
    return placement.status();
  constexpr uint64_t blockBytes = 1 << 20;
  const PieceRuns &runs = (*placement)->runs;
  const uint64_t size = sizeOf(entries[variable].type);
  std::vector<uint8_t> block(std::min(blockBytes, runs.elements() * size));
  uint64_t filled = 0;
  auto giveBlock = [&] {
    Status status = waitUntilDone(backend);
    if (status.ok() && filled > 0)
      take(block.data(), filled);
    filled = 0;
    return status;
  };
  for (uint64_t i = 0; i < runs.size(); ++i) {
    ElementRun run = runs.at(i);
    for (uint64_t at = 0; at < run.count * size;) {
      uint64_t count = std::min(run.count * size - at, block.size() - filled);
      backend.copyOut(block.data() + filled, (*placement)->memory + run.local * size + at, count);
      at += count, filled += count;
      if (filled == block.size())
        if (Status status = giveBlock(); !status.ok())
          return status;
    }
  }
  return giveBlock();
}

Status Variables::readPiece(uint32_t variable, int64_t rank, uint8_t *bytes) const {
  const Entry &entry = entries[variable];
  Result<const Placement *> placement = placementAt(variable, rank);
  if (!placement.ok())
    return placement.status();
  const PieceRuns &runs = (*placement)->runs;
  uint64_t size = sizeOf(entry.type), elements = runs.elements();
  if (elements == 0)
    return {};
  if (ElementRun last = runs.at(runs.size() - 1); last.local + last.count == elements) // padding, if any, comes after all of them
    backend.copyOut(bytes, (*placement)->memory, elements * size);
  else
    for (uint64_t i = 0, done = 0; i < runs.size(); ++i) {
      ElementRun run = runs.at(i);
      backend.copyOut(bytes + done * size, (*placement)->memory + run.local * size, run.count * size);
      done += run.count;
    }
  return waitUntilDone(backend);
}

void Variables::zero(uint32_t variable) {
  for (const Placement &placement : entries[variable].placements)
    backend.zero(placement.memory, placement.bytes);
}

template Status Variables::read(uint32_t, std::vector<float> &) const;
template Status Variables::read(uint32_t, std::vector<double> &) const;
template Status Variables::visit(uint32_t, const std::function<void(const double *, size_t)> &) const;

} // namespace npar::engine
