// Accelerate in two files: the program (Accelerate) and the classes of its names (AccelerateNames).
#pragma once

#include "tools/lib/foreign/NameTable.h"

namespace npar::foreign {

const NameTable &accelerateNames();

} // namespace npar::foreign
