// What each rank owns of the variables that outlive a training step: known from the program alone, before any memory is taken.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// The elements [begin, end) of a rectangle of a variable, row-major, without any padding: what a rank owns of it. Each element of a
/// variable is in exactly one such piece of one rank.
struct OwnedPiece {
  uint32_t variable = 0; ///< index in Program.variables
  int64_t rank = 0;
  std::vector<int64_t> start, shape; ///< of the rectangle, in the dimensions of Variable.shape
  uint64_t begin = 0, end = 0;

  uint64_t elements() const { return end - begin; }
};

/// Whether a variable's value goes from one training step into the next: parameters and state.
bool outlivesStep(const program::Variable &variable);

/// Whether the rank is the one whose piece is read: the piece's class is its owner, and the rank has coordinate 0 on every mesh axis that
/// replicates it.
bool ownsPiece(const program::Program &program, const std::vector<int64_t> &coordinates, const program::RankClass &rankClass,
               const program::Piece &piece);

/// What these ranks own of all variables that outlive a step, in the order of `ranks` and of the class's pieces. Pieces that hold nothing
/// but padding are left out.
std::vector<OwnedPiece> ownedPieces(const program::Program &program, const std::vector<int64_t> &ranks);

/// The same for all pieces that these ranks keep, replicas included.
std::vector<OwnedPiece> keptPieces(const program::Program &program, const std::vector<int64_t> &ranks);

} // namespace npar::engine
