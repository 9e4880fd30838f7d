// The table of instructions that work lane by lane.
#pragma once

#include "tests/engine/backends/standin/ptx/Lanewise.h"

#include <unordered_map>

namespace npar::standin::ptx {

/// By opcode, as PTX has it ("add.rn.f32"; conversions with the size of their registers, "cvt.u32.u8:wh").
using Operations = std::unordered_map<std::string, Operation>;

void addIntegers(Operations &operations);
void addFloats(Operations &operations);
void addComparisons(Operations &operations);
void addConversions(Operations &operations);

/// All of them.
const Operations &lanewiseOperations();

} // namespace npar::standin::ptx
