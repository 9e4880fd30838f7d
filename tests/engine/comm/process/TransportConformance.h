// Conformance test of transports, as one function that all processes (or threads in their place) call at once.
#pragma once

#include "engine/comm/process/Transport.h"

#include <string>

namespace npar::testing {

/// Must be called on the thread that opened the transport. Empty, or the violation that this process observed.
std::string whatDoesNotConform(engine::Transport &transport);

} // namespace npar::testing
