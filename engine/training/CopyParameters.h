// Parameters from one session to another one of the same model.
#pragma once

#include "engine/runtime/Session.h"

namespace npar::training {

/// Gives `to` the parameters of `from`, whose program is `program`. One tensor at a time is complete in memory, as when loading a file with
/// weights.
engine::Status copyParameters(const engine::Session &from, const program::Program &program, engine::Session &to);

} // namespace npar::training
