// A module that was loaded, and the kernels in it.
#pragma once

#include "tests/engine/backends/standin/Device.h"
#include "tests/engine/backends/standin/Memory.h"

namespace npar::standin {

struct Module {
  Device *device;
};

struct Function {
  std::shared_ptr<Module> module;
};

} // namespace npar::standin
