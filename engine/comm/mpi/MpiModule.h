// The one function that a module for an MPI library exports, by the name that the driver looks up.
#pragma once

#include "engine/comm/process/Transport.h"

#include <memory>

/// Starts MPI on the calling thread; from then on, only this thread may call the transport. The caller owns the result.
extern "C" npar::engine::Result<std::unique_ptr<npar::engine::Transport>> *nparOpenMpiTransport();
