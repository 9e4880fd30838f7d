// Finds classes by walking all of them, which is right for messages and at load; ClassMesh.h is for what asks often.
#include "engine/program/Classes.h"

#include "engine/program/Ranks.h"

namespace npar::program {

int64_t fixedCoordinate(const RankClass &rankClass, uint32_t axis) {
  for (const Coordinate *fixed : *rankClass.fixed())
    if (fixed->axis() == axis)
      return fixed->value();
  return -1;
}

static bool isMember(const RankClass &rankClass, const std::vector<int64_t> &coordinates) {
  for (const Coordinate *fixed : *rankClass.fixed())
    if (coordinates[fixed->axis()] != fixed->value())
      return false;
  return true;
}

uint32_t classOf(const Program &program, int64_t rank) {
  std::vector<int64_t> coordinates = coordinatesOf(program, rank);
  uint32_t index = 0;
  while (index < program.classes()->size() && !isMember(*program.classes()->Get(index), coordinates))
    ++index;
  return index;
}

std::vector<int64_t> ranksOf(const Program &program, const RankClass &rankClass) {
  std::vector<int64_t> ranks;
  for (int64_t rank = 0, world = worldOf(program); rank < world; ++rank)
    if (isMember(rankClass, coordinatesOf(program, rank)))
      ranks.push_back(rank);
  return ranks;
}

int64_t neighbourClass(const Program &program, const RankClass &rankClass, uint32_t axis, int64_t coordinate) {
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    bool same = true;
    for (const Coordinate *fixed : *program.classes()->Get(index)->fixed()) {
      int64_t wanted = fixed->axis() == axis ? coordinate : fixedCoordinate(rankClass, fixed->axis());
      same &= fixed->value() == wanted;
    }
    if (same)
      return index;
  }
  return -1;
}

} // namespace npar::program
