// Which session holds which rank: asked of all sessions of a program before anything runs.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/program/Loader.h"

namespace npar::engine {

/// By rank of the world: the session that holds it. With ranks in other sessions all of them must call this at the same time; each gets the
/// same map, or the same error: sessions run different programs, on different backends or have different seeds, or a rank is in
/// no session or in two.
Result<std::vector<uint32_t>> mapSessions(const program::LoadedProgram &program, const std::vector<int64_t> &ranks, uint64_t seed,
                                          const std::string &backend, Communicator &communicator, double timeoutSeconds);

} // namespace npar::engine
