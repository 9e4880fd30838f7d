// Rewrites the ops on rows of experts that ranks share, whole or in rounds.
#pragma once

#include "compiler/dialects/nn/ops/Experts.h"

#include "llvm/ADT/StringMap.h"

namespace npar::place {

/// The ops on the rows of one routing, which share the sources of rows.
struct Rows {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<nn::GroupedOp> products;
  nn::DispatchOp first;               ///< dispatch in the order of the program
  mlir::StringAttr expert = {};       ///< the axis of experts; null if the rows meet none
  mlir::Value begins = {}, ends = {}; ///< the ranges of rows of the experts

  int64_t size() { return nn::sizeOf(first.getType(), first.getRowAttr()); }
  int64_t choices() { return size() / nn::sizeOf(first.getX().getType(), first.getSeqAttr()); }
};

/// Tells how many ranks share the experts, and how rows get to them.
struct Exchange {
  int64_t pieces = 1;
  bool gathers = false; ///< ranks gather positions and add up their results; otherwise rows go by all_to_all
};

/// The axes of pieces by name, with their sizes.
using PieceAxes = llvm::StringMap<int64_t>;

/// The most rows that a piece can get, as a multiple of those of a balanced load.
double worstLoad(Rows &rows, Exchange exchange);

/// Piece p of the new axis holds the rows of the p-th part of the experts, from its beginning, in the old order; its other rows are empty.
/// A piece of a few experts is shorter than the old rows if the choices of a position differ: at most one goes to each expert.
/// `axes` are those of the routings before; an axis of another size gets another name.
void spread(Rows &rows, Exchange exchange, PieceAxes &axes);

/// The same in rounds: the pieces of each have the next rows. Each round has ops of its own, from dispatch to collect, and the results of
/// the rounds are added up. They are made before `anchor`; `number` is that of the routing in attributes::round.
void spreadInRounds(Rows &rows, Exchange exchange, int64_t rounds, int64_t number, mlir::Operation *anchor, PieceAxes &axes);

} // namespace npar::place
