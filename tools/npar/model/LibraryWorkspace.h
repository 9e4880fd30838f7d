// Tells the compiler what scratch memory this machine's matrix products need, by asking the engine's CPU backend.
#pragma once

#include "compiler/memory/WorkspaceOracle.h"

namespace npar::driver {

class LibraryWorkspace : public compiler::WorkspaceOracle {
public:
  uint64_t matmulBytes(const program::MatmulT &matmul) const override;
};

} // namespace npar::driver
