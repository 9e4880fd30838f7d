// Reads what plans are searched for: model, machine, hosts, batch.
#pragma once

#include "engine/status/Observer.h"
#include "tools/lib/foreign/ForeignModel.h"
#include "tools/lib/planner/search/Candidate.h"

#include <string>

namespace npar::planner {

struct TaskRequest {
  ModelOptions model;
  int64_t hosts = 0; ///< 0: one, or all of an uneven machine
  int64_t batch = 0; ///< 0: the train block's
  /// The plan's text needs nothing but itself and files: it has the constants of the chosen configuration, and the text of a model that is
  /// in memory. False: the reader of the plan chooses the configuration again.
  bool alone = false;
};

/// Reads model and machine. `run`: what another program trains and how, in place of the request's model; null for none.
engine::Result<PlanTask> taskOf(const TaskRequest &request, engine::Observer &observer, const foreign::ForeignModel *run = nullptr);

} // namespace npar::planner
