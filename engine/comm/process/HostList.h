// Reads variables that list the hosts of a job, each with one process, instead of numbering its processes: TF_CONFIG and SageMaker's SM_*.
#pragma once

#include "engine/comm/process/Launcher.h"

#include <optional>

namespace npar::engine {

/// TF_CONFIG, as tf.distribute.MultiWorkerMirroredStrategy reads it: `cluster` has the addresses of the workers, `task` tells which of them
/// this process is. A chief (also called master) is process 0, the workers follow. Process 0 listens at the port of its own entry. Nothing
/// if the variable is not set or has no cluster. BadInput: it is no such text; the cluster has parameter servers; the task is an evaluator
/// or of a type that npar does not know.
Result<std::optional<Launch>> readTfConfig(const Environment &environment);

/// SM_HOSTS and SM_CURRENT_HOST, which SageMaker sets in every container: a process on each host. The first host has process 0, which
/// listens at port 7777. Nothing if one of them is not set. BadInput: the list is no list of different names, or lacks the current host.
Result<std::optional<Launch>> readSageMaker(const Environment &environment);

} // namespace npar::engine
