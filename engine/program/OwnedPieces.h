// The parts of lasting variables that each rank owns, computed from the program before any memory is allocated.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// The elements [begin, end) of a rectangle of a variable, row-major, without any padding, which a rank owns. Each element of a variable is
/// in exactly one such piece of one rank.
struct OwnedPiece {
  uint32_t variable = 0; ///< index in Program.variables
  int64_t rank = 0;
  std::vector<int64_t> start, shape; ///< the rectangle, in the dimensions of Variable.shape
  uint64_t begin = 0, end = 0;

  uint64_t elements() const { return end - begin; }
};

/// True for parameters and states, whose values persist from one training step to the next.
bool outlivesStep(const Variable &variable);

/// True if a checkpoint stores the variable's own pieces, and not those of the float32 master of a parameter in 16 bits.
bool isStored(const Program &program, uint32_t variable);

/// Bytes of a variable, each element once.
uint64_t bytesOfWhole(const Variable &variable);

/// Bytes of all variables that a checkpoint stores.
uint64_t storedBytes(const Program &program);

/// True if the rank's piece is the one to read: the piece's class is its owner, and the rank has coordinate 0 on every mesh axis that
/// replicates the piece.
bool ownsPiece(const Program &program, const std::vector<int64_t> &coordinates, const RankClass &rankClass, const Piece &piece);

/// The elements that a rank with these coordinates keeps of a piece. Nothing but padding has an empty range.
OwnedPiece keptPiece(const Program &program, const std::vector<int64_t> &coordinates, const Piece &piece);

/// The elements that these ranks own of all variables that outlive a step, in the order of `ranks` and of the class's pieces. Pieces that
/// are only padding are left out.
std::vector<OwnedPiece> ownedPieces(const Program &program, const std::vector<int64_t> &ranks);

/// The same for all pieces that these ranks keep, replicas included.
std::vector<OwnedPiece> keptPieces(const Program &program, const std::vector<int64_t> &ranks);

} // namespace npar::program
