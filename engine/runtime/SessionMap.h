// Finds which session holds which rank, by exchange between all sessions of a program before anything runs.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/program/Loader.h"

namespace npar::engine {

/// The session of each rank of the world. If ranks are in other sessions, all sessions must call this at the same time. Each gets the same
/// map, or the same error: sessions run different programs, on different backends or with different seeds, or a rank is in no session or in
/// two.
Result<std::vector<uint32_t>> mapSessions(const program::LoadedProgram &program, const std::vector<int64_t> &ranks, uint64_t seed,
                                          const std::string &backend, Communicator &communicator, double timeoutSeconds);

} // namespace npar::engine
