// Goes on from a checkpoint, under whatever plan.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/runtime/Session.h"

#include <string>
#include <vector>

namespace npar::engine {

/// Refuses a checkpoint of another model: names the first tensor that differs, with both shapes, or is in one of the two only. Counters of
/// fp16 may be missing or too many.
Status fitsProgram(const CheckpointStore &store, const program::Program &program);

/// Sets every parameter and all state from a checkpoint that fits, after every stored byte has been compared with its hash; what the ranks
/// of this session keep is read by ranges. All sessions call it together: each verifies a share of the pieces. Nothing is applied when
/// that fails, and `damaged` (may be null) says in all sessions that it was for a hash: an older checkpoint may do. Returns what is worth
/// knowing, a sentence each.
Result<std::vector<std::string>> resumeFrom(Session &session, const program::Program &program, const CheckpointStore &store,
                                            bool *damaged = nullptr);

} // namespace npar::engine
