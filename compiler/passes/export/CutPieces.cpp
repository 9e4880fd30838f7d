// Writes which parts of pieces a collective moves.
#include "compiler/passes/export/CutPieces.h"

#include "compiler/dialects/dist/Cause.h"
#include "compiler/passes/export/ProgramTables.h"

#include <algorithm>

using namespace mlir;

namespace npar::compiler {

/// [outer, split, inner] of the smaller piece.
static void cut(program::CollectiveT &entry, RankedTensorType piece, StringRef dim) {
  int64_t split = nn::dimOf(piece, StringAttr::get(piece.getContext(), dim)); // there: the verifier of the move looked
  for (int64_t i = 0; i < piece.getRank(); ++i)
    (i < split ? entry.outer : i == split ? entry.split : entry.inner) *= piece.getDimSize(i);
}

void cut(program::CollectiveT &entry, RankedTensorType smaller, RankedTensorType larger, StringRef dim, int64_t ranks) {
  if (dist::layoutOf(smaller) && dist::layoutOf(smaller).isFlat()) {
    entry.split = smaller.getNumElements();
    entry.whole = static_cast<uint64_t>(larger.getNumElements());
    return;
  }
  cut(entry, smaller, dim);
  int64_t size = larger.getDimSize(nn::dimOf(larger, StringAttr::get(larger.getContext(), dim)));
  if (size != entry.split * ranks)
    entry.whole = static_cast<uint64_t>(size);
}

void cutTwice(program::CollectiveT &entry, dist::AllToAllOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType()), result = cast<RankedTensorType>(op.getResult().getType());
  int64_t split = nn::dimOf(input, op.getSplitAttr()), concat = nn::dimOf(input, op.getConcatAttr());
  entry.concat_first = concat < split;
  entry.middle = entry.concat = 1;
  for (int64_t i = 0; i < input.getRank(); ++i) {
    int64_t &part = i == split                    ? entry.split
                    : i == concat                 ? entry.concat
                    : i < std::min(split, concat) ? entry.outer
                    : i > std::max(split, concat) ? entry.inner
                                                  : entry.middle;
    part *= std::min(input.getDimSize(i), result.getDimSize(i));
  }
}

void cutPieces(program::CollectiveT &entry, dist::AllToAllOp op, int64_t ranks) {
  // The side that has the rows for all ranks has all of their entries.
  auto whole = cast<RankedTensorType>(op.getEnds()[entry.concat_first ? 0 : 1].getType());
  int64_t rows = entry.concat_first ? entry.split : entry.concat, pieces = ranks * (rows / int64_t(op.getPlaces()));
  entry.places = op.getPlaces();
  entry.groups = static_cast<uint64_t>(whole.getShape().back());
  entry.entries = (entry.groups + static_cast<uint64_t>(pieces) - 1) / static_cast<uint64_t>(pieces);
  entry.filled = op.getFilled().convertToDouble();
}

} // namespace npar::compiler
