// The parts of a variable in the arenas of ranks, for a program that embeds the engine and reads them without a copy.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

class Session;

/// Elements of a variable in one rank's arena, without padding. They stay where they are as long as the session lives, and every step
/// changes them.
struct HostPiece {
  int64_t rank = 0;
  bool owned = false; ///< the pieces with true cover the variable exactly once; the others are replicas
  /// True for a share of ZeRO: consecutive elements of the variable in row-major order, from number `first` on; `shape` is their count.
  bool flat = false;
  int64_t first = 0;
  const void *data = nullptr;
  program::ElementType type = program::ElementType::F32;
  std::vector<int64_t> start;   ///< of a rectangle: index of its first element in the variable
  std::vector<int64_t> shape;   ///< sizes in the dimensions of the variable, or one count
  std::vector<int64_t> strides; ///< in elements

  /// True if it has every element of a variable of this shape in row-major order.
  bool isWhole(const std::vector<int64_t> &variable) const;
};

/// Names of the mesh axes that split a variable, in the order of the mesh.
std::vector<std::string> splittingAxes(const program::Program &program, uint32_t variable);

/// The variable as one piece, where a rank of the session keeps all of it. BadInput, with the mesh axes, if the plan splits it.
Result<HostPiece> wholePiece(const Session &session, const program::Program &program, const std::string &variable);

} // namespace npar::engine
