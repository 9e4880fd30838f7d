// Turns a class's pieces into rectangles of logical elements: padding is cut off, and shares count elements without it.
#include "engine/program/OwnedPieces.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Precision.h"
#include "engine/program/Ranks.h"

#include <algorithm>

namespace npar::program {

bool outlivesStep(const Variable &variable) {
  switch (variable.kind()) {
  case VariableKind::Parameter:
  case VariableKind::State:
    return true;
  case VariableKind::Accumulator:
  case VariableKind::Output:
    return false;
  }
  return false;
}

bool isStored(const Program &program, uint32_t index) {
  const Variable &variable = *program.variables()->Get(index);
  return outlivesStep(variable) && (variable.kind() != VariableKind::Parameter || masterOf(program, index) < 0);
}

uint64_t bytesOfWhole(const Variable &variable) {
  uint64_t bytes = sizeOf(variable.type());
  for (int64_t size : *variable.shape())
    bytes *= static_cast<uint64_t>(size);
  return bytes;
}

uint64_t storedBytes(const Program &program) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < program.variables()->size(); ++i)
    bytes += isStored(program, i) ? bytesOfWhole(*program.variables()->Get(i)) : 0;
  return bytes;
}

bool ownsPiece(const Program &program, const std::vector<int64_t> &coordinates, const RankClass &rankClass, const Piece &piece) {
  auto splits = [&](uint32_t axis) {
    auto among = [&](const flatbuffers::Vector<uint32_t> &axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
    return among(*piece.mesh_axes()) || among(*piece.flat_axes());
  };
  for (uint32_t axis = 0; axis < program.mesh()->size(); ++axis)
    if (coordinates[axis] > 0 && fixedCoordinate(rankClass, axis) < 0 && !splits(axis))
      return false;
  return piece.owner();
}

/// Number of elements that are not padding among the first `count` row-major elements of a piece with sizes `local`, of which `valid` are
/// not padding.
static uint64_t validAmong(uint64_t count, const std::vector<int64_t> &local, const std::vector<int64_t> &valid) {
  uint64_t stride = 1, inside = 1; // elements of the dimensions after, with padding and without
  for (size_t d = 0; d < local.size(); ++d)
    stride *= static_cast<uint64_t>(local[d]), inside *= static_cast<uint64_t>(valid[d]);
  if (count >= stride)
    return inside;
  uint64_t before = 0;
  for (size_t d = 0; d < local.size(); ++d) {
    stride /= static_cast<uint64_t>(local[d]), inside /= static_cast<uint64_t>(valid[d]);
    uint64_t place = count / stride;
    if (place >= static_cast<uint64_t>(valid[d]))
      return before + static_cast<uint64_t>(valid[d]) * inside;
    before += place * inside;
    count %= stride;
  }
  return before;
}

OwnedPiece keptPiece(const Program &program, const std::vector<int64_t> &coordinates, const Piece &piece) {
  OwnedPiece owned;
  owned.variable = piece.variable(), owned.rank = rankAt(program, coordinates);
  std::vector<int64_t> local;
  uint64_t kept = 1;
  bool empty = false;
  for (const PieceDimension *dimension : *piece.dimensions()) {
    int64_t start = memberAlong(program, coordinates, piece, *dimension) * dimension->local();
    local.push_back(dimension->local());
    kept *= static_cast<uint64_t>(dimension->local());
    owned.start.push_back(start);
    owned.shape.push_back(std::clamp<int64_t>(dimension->global() - start, 0, dimension->local()));
    empty |= owned.shape.back() == 0;
  }
  if (empty)
    return owned;
  uint64_t begin = 0, end = kept;
  if (piece.flat_axes()->size() > 0) {
    uint64_t share = flatShare(kept, ranksAlong(program, *piece.flat_axes()));
    begin = static_cast<uint64_t>(memberAlong(program, coordinates, *piece.flat_axes())) * share;
    end = begin + share;
  }
  owned.begin = validAmong(begin, local, owned.shape), owned.end = validAmong(end, local, owned.shape);
  return owned;
}

static std::vector<OwnedPiece> piecesOf(const Program &program, const std::vector<int64_t> &ranks, bool owned) {
  std::vector<OwnedPiece> all;
  for (int64_t rank : ranks) {
    std::vector<int64_t> coordinates = coordinatesOf(program, rank);
    const RankClass &rankClass = *program.classes()->Get(classOf(program, rank));
    for (const Piece *piece : *rankClass.pieces())
      if (outlivesStep(*program.variables()->Get(piece->variable())) && (!owned || ownsPiece(program, coordinates, rankClass, *piece)))
        if (OwnedPiece kept = keptPiece(program, coordinates, *piece); kept.elements() > 0)
          all.push_back(std::move(kept));
  }
  return all;
}

std::vector<OwnedPiece> ownedPieces(const Program &program, const std::vector<int64_t> &ranks) {
  return piecesOf(program, ranks, /*owned=*/true);
}

std::vector<OwnedPiece> keptPieces(const Program &program, const std::vector<int64_t> &ranks) {
  return piecesOf(program, ranks, /*owned=*/false);
}

} // namespace npar::program
