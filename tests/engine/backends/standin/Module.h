// A module that was loaded, and the kernels in it.
#pragma once

#include "tests/engine/backends/standin/Device.h"
#include "tests/engine/backends/standin/Memory.h"
#include "tests/engine/backends/standin/ptx/Instruction.h"

#include <map>

namespace npar::standin {

struct Module {
  Device *device;
  std::vector<uint64_t> globals; ///< addresses of its variables
  std::map<std::string, ptx::Kernel> kernels;
};

struct Function {
  std::shared_ptr<Module> module;
  const ptx::Kernel *kernel;
  uint64_t dynamicShared = 48 << 10; ///< bytes that a launch may ask for
};

/// Reads PTX for an architecture ("sm_90" for 90), places its variables. Null: `error` says why.
std::shared_ptr<Module> loadModule(const std::string &text, Memory &memory, Device &device, int architecture, std::string &error);

} // namespace npar::standin
