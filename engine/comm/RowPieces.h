// Computes which rows exist in an all_to_all of routed rows: only these move.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

#include <vector>

namespace npar::engine {

/// The rows of the blocks that a member exchanges. A block has `samples` with `pieces` pieces of `places` rows each; of a piece the first
/// rows exist. Both sides know how many from ends of their own: `Operation::inputEnds` and `outputEnds`.
class RowPieces {
public:
  enum Side { Input, Output };

  /// `operation`: with places.
  explicit RowPieces(const Operation &operation);
  uint64_t samples() const { return operation.outer * first * operation.middle; }
  uint64_t pieces() const { return second / operation.places; }
  uint64_t rowBytes() const;
  /// Number of ends that a member has of one side.
  uint64_t ends(Side side) const;
  /// The rows that exist in a piece of the block that goes to another member (Input) or comes from it (Output). Negative if an end is
  /// outside of the piece.
  int64_t rows(const int32_t *ends, Side side, uint32_t other, uint64_t sample, uint64_t piece) const;

private:
  /// True if the rows of all members follow each other in a sample of this side.
  bool isWhole(Side side) const { return (side == Input) == operation.concatFirst; }

  const Operation &operation;
  uint64_t first, second; ///< samples and rows of a block, between `outer`, `middle` and `inner`
};

/// The ends of one side of a member's part. Where the processor does not see them they are copied, by work that must be done before the
/// result is read.
const int32_t *endsOf(Backend &backend, const Operation &operation, RowPieces::Side side, std::vector<int32_t> &copy);

/// The error for a piece whose ends are outside of it.
Status damagedEnds(const Operation &operation);
/// The error for a piece in which two members see different numbers of rows.
Status differentRows(const Operation &source, int64_t sent, const Operation &target, int64_t expected);

} // namespace npar::engine
