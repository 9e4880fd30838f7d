// Classes of ranks that share a program. A class fixes coordinates on some mesh axes; its ranks differ on the others.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// The class's fixed coordinate on an axis, -1 when the axis is a parameter of the class.
int64_t fixedCoordinate(const RankClass &rankClass, uint32_t axis);

/// Index of the class whose fixed coordinates the rank has.
uint32_t classOf(const Program &program, int64_t rank);

/// All ranks of a class, ascending.
std::vector<int64_t> ranksOf(const Program &program, const RankClass &rankClass);

/// Index of the class with the same fixed coordinates but `coordinate` on a fixed `axis`; -1 when there is none.
int64_t neighbourClass(const Program &program, const RankClass &rankClass, uint32_t axis, int64_t coordinate);

} // namespace npar::program
