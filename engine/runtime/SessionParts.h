// Creates a session from parts of the caller's choice: communicators to other sessions, and test parts such as faults and clocks.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"
#include "engine/runtime/Clock.h"
#include "engine/runtime/Session.h"
#include "engine/runtime/StepObserver.h"

#include <functional>

namespace npar::engine {

struct SessionParts {
  std::unique_ptr<Backend> backend; ///< null: by SessionOptions.backend
  /// Makes the communicator, which lives as long as the session; null: LocalCommunicator, which reaches only this session's ranks.
  std::function<std::shared_ptr<Communicator>(Backend &)> communicator;
  std::shared_ptr<const Clock> clock; ///< null: the machine's
  StepObserver *observer = nullptr;   ///< not owned; outlives the session
};

/// Same as Session::create, but with the given parts.
Result<std::unique_ptr<Session>> createSession(std::shared_ptr<const program::LoadedProgram> program, const SessionOptions &options,
                                               SessionParts parts);

} // namespace npar::engine
