// What a module for one MPI library exports: the one name that the driver looks up in it.
#pragma once

#include "engine/comm/process/Transport.h"

#include <memory>

/// Starts MPI on the calling thread, which alone calls the transport from then on. The caller owns the result.
extern "C" npar::engine::Result<std::unique_ptr<npar::engine::Transport>> *nparOpenMpiTransport();
