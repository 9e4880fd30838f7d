// What every transport must do, as one function that all processes (or threads that stand for them) call at once.
#pragma once

#include "engine/comm/process/Transport.h"

#include <string>

namespace npar::testing {

/// Called on the thread that opened the transport. Empty, or what does not hold, as this process sees it.
std::string whatDoesNotConform(engine::Transport &transport);

} // namespace npar::testing
