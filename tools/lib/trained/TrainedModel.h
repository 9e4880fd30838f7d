// Loads a forward-only program and weights into a session.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/lib/trained/NamedModel.h"

#include <memory>
#include <vector>

namespace npar::trained {

struct TrainedModel {
  models::ProgramPointer program;
  std::unique_ptr<engine::Session> session;
};

/// Options with which sessions are started.
struct StartOptions {
  engine::SessionOptions session; ///< device and time limit
  int threads = 0;                ///< 0: the usual number
  bool quiet = false;             ///< no remarks
};

/// Allocates memory, starts a session, shared by all processes of a job, and loads the weights. The memory is large enough for `guests`
/// too. The observer must outlive the session.
engine::Result<TrainedModel> startWith(job::Processes &processes, models::ProgramPointer program, const NamedModel &named,
                                       const StartOptions &start, const std::vector<models::ProgramPointer> &guests,
                                       engine::Observer &observer);
/// Starts a session of another program of the model, in the memory of `host` and with its weights.
engine::Result<TrainedModel> startIn(job::Processes &processes, const TrainedModel &host, models::ProgramPointer program,
                                     const StartOptions &start);

} // namespace npar::trained
