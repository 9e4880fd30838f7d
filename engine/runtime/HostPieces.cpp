// Finds the piece that is a whole variable, and names the mesh axes that split one.
#include "engine/runtime/HostPieces.h"

#include "engine/runtime/BorrowedArrays.h"
#include "engine/runtime/Session.h"

#include <algorithm>
#include <set>

namespace npar::engine {

bool HostPiece::isWhole(const std::vector<int64_t> &variable) const {
  int64_t elements = 1;
  for (int64_t size : variable)
    elements *= size;
  if (flat)
    return first == 0 && shape[0] == elements;
  if (shape != variable)
    return false;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    if (shape[d] > 1 && strides[d] != stride)
      return false;
  return true;
}

std::vector<std::string> splittingAxes(const program::Program &program, uint32_t variable) {
  std::set<uint32_t> splits;
  for (const program::RankClass *rankClass : *program.classes())
    for (const program::Piece *piece : *rankClass->pieces())
      if (piece->variable() == variable) {
        splits.insert(piece->mesh_axes()->begin(), piece->mesh_axes()->end());
        splits.insert(piece->flat_axes()->begin(), piece->flat_axes()->end());
      }
  std::vector<std::string> names;
  for (uint32_t axis : splits)
    if (program.mesh()->Get(axis)->size() > 1)
      names.push_back(program.mesh()->Get(axis)->name()->str());
  return names;
}

Result<HostPiece> wholePiece(const Session &session, const program::Program &program, const std::string &variable) {
  TRY(std::vector<HostPiece> pieces, session.hostPieces(variable));
  uint32_t index = 0;
  while (program.variables()->Get(index)->name()->str() != variable)
    ++index;
  const auto &sizes = *program.variables()->Get(index)->shape();
  for (HostPiece &piece : pieces)
    if (std::vector<int64_t> shape(sizes.begin(), sizes.end()); piece.isWhole(shape)) {
      piece.strides = BorrowedArray::rowMajor(shape);
      piece.shape = std::move(shape);
      return std::move(piece);
    }
  std::string axes;
  for (const std::string &name : splittingAxes(program, index))
    axes += (axes.empty() ? "" : ", ") + name;
  return Status::badInput("'" + variable + "' is not in one piece" + (axes.empty() ? "" : ": the plan splits it over " + axes) +
                          "; read its pieces, or copy it");
}

} // namespace npar::engine
