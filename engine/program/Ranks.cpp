// Row-major arithmetic between ranks and mesh coordinates.
#include "engine/program/Ranks.h"

namespace npar::program {

int64_t worldOf(const Program &program) {
  int64_t world = 1;
  for (const MeshAxis *axis : *program.mesh())
    world *= axis->size();
  return world;
}

std::vector<int64_t> coordinatesOf(const Program &program, int64_t rank) {
  std::vector<int64_t> coordinates(program.mesh()->size());
  for (size_t axis = coordinates.size(); axis-- > 0;) {
    int64_t size = program.mesh()->Get(axis)->size();
    coordinates[axis] = rank % size;
    rank /= size;
  }
  return coordinates;
}

int64_t rankAt(const Program &program, const std::vector<int64_t> &coordinates) {
  int64_t rank = 0;
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    rank = rank * program.mesh()->Get(axis)->size() + coordinates[axis];
  return rank;
}

uint64_t ranksAlong(const Program &program, const flatbuffers::Vector<uint32_t> &axes) {
  uint64_t ranks = 1;
  for (uint32_t axis : axes)
    ranks *= program.mesh()->Get(axis)->size();
  return ranks;
}

int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const flatbuffers::Vector<uint32_t> &axes,
                    uint32_t first, uint32_t count) {
  int64_t member = 0;
  for (uint32_t i = first; i < first + count; ++i)
    member = member * program.mesh()->Get(axes.Get(i))->size() + coordinates[axes.Get(i)];
  return member;
}

int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const flatbuffers::Vector<uint32_t> &axes) {
  return memberAlong(program, coordinates, axes, 0, axes.size());
}

std::vector<int64_t> groupOf(const Program &program, const Collective &collective, int64_t rank) {
  std::vector<int64_t> coordinates = coordinatesOf(program, rank);
  auto members = static_cast<int64_t>(ranksAlong(program, *collective.axes()));
  std::vector<int64_t> ranks;
  for (int64_t member = 0; member < members; ++member) {
    int64_t rest = member;
    for (size_t i = collective.axes()->size(); i-- > 0;) {
      uint32_t axis = collective.axes()->Get(i);
      coordinates[axis] = rest % program.mesh()->Get(axis)->size();
      rest /= program.mesh()->Get(axis)->size();
    }
    ranks.push_back(rankAt(program, coordinates));
  }
  return ranks;
}

} // namespace npar::program
