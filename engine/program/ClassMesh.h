// The classes of a program as a small mesh of their own: one class per combination of coordinates on the axes that classes fix.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// Finds classes by coordinates in time that grows with the number of mesh axes, not of classes. `checkStructure` must have passed: all
/// classes fix the same axes and every combination has its class.
class ClassMesh {
public:
  explicit ClassMesh(const Program &program);
  /// The coordinate that the class fixes on a mesh axis; -1 when classes do not fix it.
  int64_t coordinate(uint32_t rankClass, uint32_t axis) const { return coordinates[rankClass * axisCount + axis]; }
  /// The class with the same fixed coordinates but `value` on the fixed mesh axis `axis`; -1 when classes do not fix it.
  int64_t neighbour(uint32_t rankClass, uint32_t axis, uint32_t value) const;
  /// The classes that hold members of the collective's group, with `rankClass` itself: those that differ in fixed coordinates of the
  /// collective's axes only, ascending in these coordinates. The first names the group: it is the same for all of them.
  std::vector<uint32_t> members(uint32_t rankClass, const Collective &collective) const;
  uint32_t firstMember(uint32_t rankClass, const Collective &collective) const;

private:
  uint32_t axisCount;
  std::vector<int64_t> coordinates; ///< [class][mesh axis], -1 if not fixed
  std::vector<uint32_t> sizes;      ///< sizes of mesh axes
  std::vector<uint64_t> strides;    ///< strides of mesh axes in `classAt`; 0 for axes that are not fixed
  std::vector<uint32_t> classAt;    ///< by row-major index over the fixed axes
  std::vector<uint64_t> placeOf;    ///< by class
};

} // namespace npar::program
