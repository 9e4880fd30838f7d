// Computes this process's sums of an operation: contributions of all members arrive in pieces and are added in member order.
#pragma once

#include "engine/comm/process/Lanes.h"

namespace npar::engine {

/// Two pieces are in progress: one is added while the next arrives. A piece is added when every member's part of it is there, so the order
/// of addition is that of the members (RULES.md#N5), whichever process is faster.
class Reduction {
public:
  /// `cut`: the pieces of the own party's sums.
  Reduction(const LaneParts &parts, const Group &group, const Buffers &buffers, const Cut &cut);
  ~Reduction();
  Status begin();
  /// Begins to receive the contributions of another party's members; `received` is called when all have arrived.
  void receiveFrom(size_t party, uint32_t tag, std::function<void()> received);
  uint64_t pieces() const { return cut.pieces(); }

  std::function<void(uint64_t pieces)> added; ///< called with the number of pieces in the outputs; may delete this object
  std::function<void(const Status &)> failed;

private:
  class Contributions;
  static constexpr uint64_t piecesUnderWay = 2;
  ScratchPiece &setOf(uint64_t piece) { return sets[piece % piecesUnderWay]; }
  void arrived();
  Status add(uint64_t piece);

  LaneParts parts;
  const Group &group;
  const Buffers &buffers;
  Cut cut;
  std::vector<uint32_t> places; ///< by member of another process: its place in a set
  uint32_t strangers = 0;       ///< number of members of other processes
  ScratchPiece sets[piecesUnderWay];
  uint32_t missing[piecesUnderWay] = {};
  uint64_t done = 0; ///< number of pieces that have been added
  std::vector<std::unique_ptr<Contributions>> lanes;
};

} // namespace npar::engine
