// Numbers classes row-major over the mesh axes that they fix.
#include "engine/program/ClassMesh.h"

namespace npar::program {

ClassMesh::ClassMesh(const Program &program) : axisCount(program.mesh()->size()) {
  coordinates.assign(size_t(program.classes()->size()) * axisCount, -1);
  strides.assign(axisCount, 0);
  for (uint32_t index = 0; index < program.classes()->size(); ++index)
    for (const Coordinate *fixed : *program.classes()->Get(index)->fixed())
      coordinates[index * axisCount + fixed->axis()] = fixed->value();
  for (const MeshAxis *axis : *program.mesh())
    sizes.push_back(axis->size());
  uint64_t places = 1;
  for (uint32_t axis = axisCount; axis-- > 0;)
    if (coordinate(0, axis) >= 0) {
      strides[axis] = places;
      places *= sizes[axis];
    }
  classAt.assign(places, 0);
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    uint64_t place = 0;
    for (uint32_t axis = 0; axis < axisCount; ++axis)
      if (strides[axis])
        place += strides[axis] * coordinate(index, axis);
    placeOf.push_back(place);
    classAt[place] = index;
  }
}

int64_t ClassMesh::neighbour(uint32_t rankClass, uint32_t axis, uint32_t value) const {
  if (!strides[axis])
    return -1;
  return classAt[placeOf[rankClass] + strides[axis] * (int64_t(value) - coordinate(rankClass, axis))];
}

uint32_t ClassMesh::firstMember(uint32_t rankClass, const Collective &collective) const {
  uint64_t place = placeOf[rankClass];
  for (uint32_t axis : *collective.axes())
    if (strides[axis])
      place -= strides[axis] * coordinate(rankClass, axis);
  return classAt[place];
}

std::vector<uint32_t> ClassMesh::members(uint32_t rankClass, const Collective &collective) const {
  std::vector<uint64_t> places = {placeOf[firstMember(rankClass, collective)]};
  for (uint32_t axis : *collective.axes()) {
    std::vector<uint64_t> longer;
    for (uint64_t place : places)
      for (uint32_t value = 0; value < (strides[axis] ? sizes[axis] : 1); ++value)
        longer.push_back(place + strides[axis] * value);
    places.swap(longer);
  }
  std::vector<uint32_t> classes;
  for (uint64_t place : places)
    classes.push_back(classAt[place]);
  return classes;
}

} // namespace npar::program
